import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openCredentials } from '../src/credentials.js';
import { isOwnListener } from '../src/find-agent.js';
import { type Belay, openBelay } from './support/belay.js';
import { signInThroughDemo } from './support/browser.js';
import { hasProgram } from './support/has-program.js';
import { openTerminal, silent, type Terminal } from './support/run.js';

let terminal: Terminal;
let folder: string;

beforeEach(async () => {
  terminal = await openTerminal();
  folder = await mkdtemp(path.join(tmpdir(), 'belay-agent-commands-'));
});
afterEach(async () => {
  await terminal[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function host(platform: NodeJS.Platform, variables: Record<string, string> = {}) {
  return {
    variables,
    nodeVersion: process.version,
    platform,
    home: folder,
    folder,
    program: { node: '/opt/node 20/bin/node', script: '/opt/100%/be"lay/$main.js' },
    userId: 501,
  };
}

const unit = () => path.join(folder, '.config', 'systemd', 'user', 'belay-agent.service');

describe('belay agent install', () => {
  it('with --print shows the unit on stdout and writes nothing', async () => {
    const { code, stdout } = await terminal.run(['agent', 'install', '--print'], { host: host('linux') });
    expect(code).toBe(0);
    for (const line of ['NoNewPrivileges=yes', 'PrivateTmp=yes', 'ProtectSystem=strict', 'MemoryMax=240M']) {
      expect(stdout).toContain(`\n${line}\n`);
    }
    await expect(stat(unit())).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('writes a unit that systemd accepts, names with spaces, quotes, percents and dollars included', async () => {
    const here = host('linux', { BELAY_SERVER: 'https://a.example', BELAY_TOKEN: 'not-for-a-file' });
    const args = ['agent', 'install', '--url', 'https://belay.example.com', '--port', '8799'];
    const { code, stderr } = await terminal.run(args, { host: here });
    expect(code).toBe(0);
    expect(stderr).toContain('systemctl --user enable --now belay-agent');
    expect(stderr).toContain('belay agent join');
    const text = await readFile(unit(), 'utf8');
    expect(text).toContain('ExecStart="/opt/node 20/bin/node" "/opt/100%%/be\\"lay/$$main.js" "agent" "run"');
    expect(text).toContain('Environment="BELAY_SERVER=https://belay.example.com"\nEnvironment="PORT=8799"');
    expect(text).not.toContain('not-for-a-file');
    // CI does not install it: it comes with systemd, which a container does not run.
    if (!hasProgram('systemd-analyze', 'the unit was not verified', false)) return;
    // Use a program that exists, because `systemd-analyze` checks that it can be run.
    const checked = path.join(folder, 'belay-agent.service');
    await writeFile(checked, text.replace('/opt/node 20/bin/node', process.execPath));
    const { stderr: complaints, status } = spawnSync('systemd-analyze', ['--user', 'verify', checked], {
      env: { ...process.env, XDG_RUNTIME_DIR: folder },
      encoding: 'utf8',
    });
    expect([status, complaints]).toEqual([0, '']);
  });

  it('replaces a unit with different content only with --force', async () => {
    await mkdir(path.dirname(unit()), { recursive: true });
    await writeFile(unit(), '# mine\n');
    const args = ['agent', 'install'];
    expect(await terminal.run(args, { host: host('linux') })).toMatchObject({ code: 6 });
    expect(await readFile(unit(), 'utf8')).toBe('# mine\n');
    expect(await terminal.run([...args, '--force'], { host: host('linux') })).toMatchObject({ code: 0 });
    expect(await terminal.run(args, { host: host('linux') })).toMatchObject({ code: 0 });
  });

  it('rejects values that would add lines to the unit', async () => {
    const evil = 'https://belay.example.com\nExecStartPre=/bin/false';
    expect(await terminal.run(['agent', 'install', '--url', evil], { host: host('linux') })).toMatchObject({ code: 2 });
    const named = host('linux', { BELAY_AGENT_NAME: 'laptop\r[Service]' });
    expect(await terminal.run(['agent', 'install'], { host: named })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('BELAY_AGENT_NAME'),
    });
    await expect(stat(unit())).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('writes a launchd agent on macOS, and rejects other systems', async () => {
    const plist = path.join(folder, 'Library', 'LaunchAgents', 'dev.belay.agent.plist');
    const args = ['agent', 'install', '--url', 'https://belay.example.com/?a&b'];
    expect(await terminal.run(args, { host: host('darwin') })).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('launchctl bootstrap gui/501'),
    });
    const text = await readFile(plist, 'utf8');
    expect(text).toContain('<string>/opt/node 20/bin/node</string>');
    expect(text).toContain('https://belay.example.com/?a&amp;b');
    expect(await terminal.run(args, { host: host('win32') })).toMatchObject({ code: 1 });
  });

  it('is undone by uninstall, which reports a missing service', async () => {
    await terminal.run(['agent', 'install'], { host: host('linux') });
    expect(await terminal.run(['agent', 'uninstall'], { host: host('linux') })).toMatchObject({ code: 0 });
    await expect(stat(unit())).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await terminal.run(['agent', 'uninstall'], { host: host('linux') })).toMatchObject({ code: 5 });
  });

  it('leaves nothing that systemd would start, and prints how to stop it with commands that need no unit file', async () => {
    await terminal.run(['agent', 'install'], { host: host('linux') });
    // What `systemctl --user enable` makes.
    const wants = path.join(path.dirname(unit()), 'default.target.wants');
    await mkdir(wants);
    await symlink(unit(), path.join(wants, 'belay-agent.service'));
    const { stderr } = await terminal.run(['agent', 'uninstall'], { host: host('linux') });
    expect(await readdir(wants)).toEqual([]);
    // Without the unit file, `systemctl disable` fails.
    expect(stderr).toBe('stop it with:\n  systemctl --user stop belay-agent\n  systemctl --user daemon-reload\n');
  });
});

/**
 * Starts a program that identifies itself as an agent and responds only to the requests of `agent status` and
 * `sessions`.
 */
async function startAgent(
  asked: string[],
  authorization: unknown[],
  serviceType = 'agent',
  sessions: object = { company: { version: 3, expiry: '2030-01-01T01:00:00.000Z', session: 'sealed-secret' } },
  authEndpoint = 'https://belay.example.com/api/v1/auth',
): Promise<Server> {
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    authorization.push(request.headers.authorization);
    const body = {
      '/.well-known/api-configuration': {
        serviceName: 'belay',
        serviceType,
        version: '1.2.3',
        authEndpoint,
      },
      '/health': {
        status: 'degraded',
        services: { scheduler: 'degraded: unreachable', storage: 'healthy' },
        configuration: { version: '1.0.7', age: 'PT12M', confirmed_at: null, server: 'unreachable' },
      },
      '/sessions': { sessions },
      '/trpc/sessions.list': { result: { data: { sessions } } },
    }[request.url?.split('?')[0] ?? ''];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function addressOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A shell with the real clock, and with a browser in which Rita signs in. */
const signingIn = {
  clock: () => new Date(),
  openBrowser: (address: string) => void signInThroughDemo(address, 'rita@example.test'),
};

describe('with an agent on this machine', () => {
  let agent: Server;
  let belay: Belay;
  let asked: string[];
  let authorization: unknown[];

  beforeEach(async () => {
    [asked, authorization] = [[], []];
    agent = await startAgent(asked, authorization);
    belay = await openBelay();
  });
  afterEach(async () => {
    agent.closeAllConnections();
    agent.close();
    await belay[Symbol.asyncDispose]();
  });

  it('agent status shows version, errors, age of the configuration and sessions, but never a token', async () => {
    for (const json of [[], ['--json']]) {
      const { code, stdout, stderr } = await terminal.run(['agent', 'status', ...json], { agent: addressOf(agent) });
      expect(code).toBe(0);
      for (const part of ['1.2.3', 'degraded: unreachable', '1.0.7', 'PT12M', 'company'])
        expect(stdout).toContain(part);
      expect(stdout + stderr).not.toContain('sealed-secret');
    }
    expect(await terminal.run(['agent', 'status'], { agent: 'http://127.0.0.1:1' })).toMatchObject({ code: 7 });
  });

  it('sends it the commands that it serves, without a credential, and all others to the server', async () => {
    const shell = { agent: addressOf(agent), token: belay.token };
    const { code, stdout } = await terminal.run(['sessions', '--json'], shell);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      server: addressOf(agent),
      sessions: { company: { version: 3, expiry: '2030-01-01T01:00:00.000Z' } },
    });
    await terminal.run(['login', '--url', belay.world.url], signingIn);
    const before = asked.length;
    expect(await terminal.run(['whoami'], shell)).toMatchObject({ stdout: expect.stringContaining(belay.world.url) });
    expect(asked).toHaveLength(before);
    expect(authorization.every((header) => header === undefined)).toBe(true);
  });

  it('prefers a stored login to an agent without a session', async () => {
    const empty = await startAgent([], [], 'agent', {});
    await terminal.run(['login', '--url', belay.world.url], signingIn);
    const { stdout } = await terminal.run(['sessions', '--json'], { agent: addressOf(empty) });
    expect(JSON.parse(stdout)).toMatchObject({ server: belay.world.url });
    empty.close();
  });

  it('prefers the option to BELAY_URL, and BELAY_URL to the agent', async () => {
    const shell = { agent: addressOf(agent), token: belay.token, server: belay.world.url };
    const { stdout } = await terminal.run(['sessions', '--json'], shell);
    expect(JSON.parse(stdout)).toMatchObject({ server: belay.world.url });
    const named = await terminal.run(['sessions', '--json', '--url', addressOf(agent)], shell);
    expect(JSON.parse(named.stdout)).toMatchObject({ server: addressOf(agent) });
  });

  it('ignores a program that is not an agent', async () => {
    const other = await startAgent([], [], 'server');
    const shell = { agent: addressOf(other), token: undefined };
    expect(await terminal.run(['sessions'], shell)).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('127.0.0.1:8080'),
    });
    other.close();
  });
});

describe('a stored login', () => {
  it('is not sent to a program that listens at its address and was only discovered as the agent', async () => {
    const authorization: unknown[] = [];
    const agent = await startAgent([], authorization);
    const login = {
      token: 'stored',
      expires_at: '2030-01-02T00:00:00.000Z',
      email: 'r@example.test',
      provider: 'demo',
    };
    await openCredentials({
      file: terminal.credentialsFile,
      posix: true,
      randomName: () => 'new',
    }).save(addressOf(agent), login);
    expect(await terminal.run(['sessions'], { agent: addressOf(agent) })).toMatchObject({ code: 0 });
    expect(authorization.filter((header) => header !== undefined)).toEqual([]);
    // Naming the address is a decision to send it.
    await terminal.run(['sessions', '--url', addressOf(agent)]);
    expect(authorization.at(-1)).toBe('Bearer stored');
    agent.close();
  });
});

describe('a token without an address', () => {
  it('is not sent to an address that came from the agent, and the error says so', async () => {
    await using belay = await openBelay();
    const agent = await startAgent([], [], 'agent', {}, `${belay.world.url}/api/v1/auth`);
    const shell = { agent: addressOf(agent), token: belay.token };
    const { code, stderr } = await terminal.run(['whoami'], shell);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('BELAY_TOKEN was not sent') });
    expect((await terminal.run(['whoami'], { ...shell, server: belay.world.url })).code).toBe(0);
    agent.close();
  });
});

describe('belay agent join', () => {
  it('reads the credential from standard input or a prompt, and never prints it', async () => {
    const joined: unknown[] = [];
    const signal = expect.any(AbortSignal);
    const agentControl = {
      run: async () => {},
      status: () => Promise.reject(new Error('not sent')),
      join: async (request: { server: string; credential: string; name: string | undefined }) => {
        joined.push(request);
        return { server: request.server, name: 'laptop', catalog_version: '1.0.1' };
      },
    };
    const args = ['agent', 'join', '--url', 'https://belay.example.com'];
    const piped = await terminal.run(args, { agentControl, readInput: async () => 'belay-agent.once\n' });
    const prompts = { ...silent, secret: async () => 'belay-agent.typed' };
    const typed = await terminal.run([...args, '--name', 'desk'], { agentControl, interactive: true, prompts });
    expect(joined).toEqual([
      { server: 'https://belay.example.com', credential: 'belay-agent.once', name: undefined, signal },
      { server: 'https://belay.example.com', credential: 'belay-agent.typed', name: 'desk', signal },
    ]);
    for (const { code, stdout, stderr } of [piped, typed]) {
      expect(code).toBe(0);
      expect(stdout + stderr).not.toMatch(/belay-agent\./);
    }
    expect(await terminal.run(['agent', 'join'], { agentControl })).toMatchObject({ code: 2 });
  });
});

describe.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
  'an agent of another user of this machine',
  () => {
    it('is ignored: commands neither sign in through it nor use its server', async () => {
      const script = `require('node:http').createServer((request, response) => {
      response.setHeader('content-type', 'application/json');
      const authEndpoint = 'http://127.0.0.1:1/api/v1/auth';
      response.end(JSON.stringify({ serviceName: 'belay', serviceType: 'agent', authEndpoint, sessions: {} }));
    }).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;
      const nobody = 65_534;
      const child = spawn(process.execPath, ['-e', script], {
        uid: nobody,
        gid: nobody,
        cwd: '/',
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      try {
        const [port] = (await once(child.stdout, 'data')) as [Buffer];
        const agent = `http://127.0.0.1:${String(port).trim()}`;
        const opened: string[] = [];
        const shell = {
          agent,
          openBrowser: (url: string) => void opened.push(url),
          delay: () => Promise.reject(new Error('waits')),
        };
        expect(await terminal.run(['login', '--agent'], shell)).toMatchObject({
          code: 7,
          stderr: expect.stringContaining('no agent runs on this machine'),
        });
        expect(opened).toEqual([]);
        expect(await terminal.run(['agent', 'status', '--json'], shell)).toMatchObject({ code: 7 });
        // This user's listener is found even if another user listens at another address with the same port.
        const ours = createServer().listen(Number(String(port)), '127.0.0.2');
        await once(ours, 'listening');
        expect(await isOwnListener(agent.replace('0.1', '0.2'))).toBe(true);
        expect(await isOwnListener(agent)).toBe(false);
        ours.close();
        expect((await terminal.run(['login'], shell)).stderr).not.toContain('127.0.0.1:1');
      } finally {
        child.kill('SIGKILL');
      }
    });
  },
);
