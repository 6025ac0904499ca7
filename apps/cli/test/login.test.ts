import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { openVisitor } from '@belay/testkit/visitor';
import { people } from '@belay/testkit/world';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Belay, openBelay } from './support/belay.js';
import { signInThroughDemo } from './support/browser.js';
import { openTerminal, type Terminal } from './support/run.js';

let belay: Belay;
/** The server's own address, to which its identity provider redirects. */
let server: string;
let terminal: Terminal;

beforeAll(async () => {
  belay = await openBelay();
  server = belay.world.url;
});
afterAll(() => belay?.[Symbol.asyncDispose]());
beforeEach(async () => {
  terminal = await openTerminal({ clock: () => new Date() });
});
afterEach(async () => {
  belay.between.mangle = undefined;
  belay.between.refuse = undefined;
  await terminal[Symbol.asyncDispose]();
});

/** A browser in which Rita signs in; it ends at the command's own callback. */
function browse(visited: URL[] = []) {
  return (address: string) => {
    visited.push(new URL(address));
    void signInThroughDemo(address, 'rita@example.test');
  };
}

describe('login', () => {
  it('signs in through the browser with a PKCE challenge, and keeps the token for that server alone', async () => {
    const visited: URL[] = [];
    const { code, stdout, stderr } = await terminal.run(['login', '--server', `${server}/`], {
      openBrowser: browse(visited),
    });
    expect(stderr).toContain(`Sign in at: ${server}/api/v1/auth/request/demo?callback=http%3A%2F%2F127.0.0.1%3A`);
    expect(code).toBe(0);
    expect(stdout).toContain('rita@example.test');
    const query = visited[0]?.searchParams;
    expect(query?.get('code_challenge')).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(query?.get('code_challenge_method')).toBe('S256');
    expect((await stat(terminal.credentialsFile)).mode & 0o777).toBe(0o600);
    const kept = JSON.parse(await readFile(terminal.credentialsFile, 'utf8')) as {
      servers: Record<string, { token: string }>;
    };
    expect(kept).toMatchObject({ default: server, servers: { [server]: { email: 'rita@example.test' } } });
    const token = kept.servers[server]?.token ?? '';
    expect(token).toMatch(/^\S{32,}$/);
    expect(stdout + stderr).not.toContain(token);
    expect(await terminal.run(['whoami'])).toMatchObject({ code: 0, stdout: expect.stringContaining(server) });
    // A different address of the same server counts as a different server.
    expect(await terminal.run(['whoami', '--server', belay.url])).toMatchObject({ code: 3 });
  });

  it('prompts for a provider when there are several, and requires --provider without a terminal', async () => {
    await using several = await openBelay(({ providers, ...rest }) => ({
      ...rest,
      providers: { ...providers, partner: { ...providers.demo, name: 'Partner' } },
    }));
    const { url } = several.world;
    expect(await terminal.run(['login'], { server: url })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('demo, partner'),
    });
    const visited: URL[] = [];
    const offered: string[] = [];
    const select = async (_question: string, choices: { value: string }[]) => {
      offered.push(...choices.map(({ value }) => value));
      return 'demo';
    };
    const shell = { server: url, interactive: true, prompts: { select } as never, openBrowser: browse(visited) };
    expect(await terminal.run(['login'], shell)).toMatchObject({ code: 0 });
    expect(offered).toEqual(['demo', 'partner']);
    expect(visited[0]?.pathname).toBe('/api/v1/auth/request/demo');
    expect(await terminal.run(['login', '--provider', 'nobody'], shell)).toMatchObject({ code: 5 });
  });

  it('is not ended by a visit to another path, nor by a login that was rejected', async () => {
    const openBrowser = (address: string) => {
      const callback = new URL(new URL(address).searchParams.get('callback') ?? '');
      void fetch(new URL('/callback/guess?code=evil', callback))
        .then((elsewhere) => expect(elsewhere.status).toBe(404))
        .then(() => fetch(`${callback}?error=access_denied`));
    };
    expect(await terminal.run(['login'], { server, openBrowser })).toMatchObject({ code: 4 });
  });

  it('survives requests with invalid addresses, which any web page can send', async () => {
    const openBrowser = (address: string) => {
      const callback = new URL(new URL(address).searchParams.get('callback') ?? '');
      void fetch(`${callback.origin}//`)
        .then((elsewhere) => expect(elsewhere.status).toBe(404))
        .then(() => browse()(address));
    };
    expect(await terminal.run(['login'], { server, openBrowser })).toMatchObject({ code: 0 });
  });

  it('escapes control characters of the server in every command', async () => {
    const hostile = 'ada\u001b]0;x\u0007\u001b[2J\u001b[8m\nbelay: all is well\u202e\u009b31m';
    const unsafe = (text: string) =>
      [...text.replaceAll('\t', '')].filter((each) => each !== '\n' && /[\p{Cc}\u202e]/u.test(each)).join('') ||
      /\nbelay: all/.exec(text)?.[0];
    const [active, waiting, other, ended] = [
      await belay.request('--role', 'reader', '--workflow', 'automatic'),
      await belay.request(),
      await belay.request(),
      await belay.request('--role', 'reader', '--workflow', 'rejecting'),
    ];
    // A real server sends none of these texts; a malicious one can.
    await belay.world.database.sql`update ledger set message = ${hostile}, type = ${hostile}`;
    const said: Record<string, (data: Record<string, unknown>) => object> = {
      'auth.token': ({ user }) => ({ user: { ...(user as object), email: hostile } }),
      'auth.whoami': () => ({ email: hostile }),
      'logs.list': ({ logs }) => ({
        logs: (logs as object[]).map((entry) => ({ ...entry, timestamp: hostile, level: hostile })),
      }),
    };
    belay.between.mangle = (procedure, data) => ({ ...data, message: hostile, ...said[procedure]?.(data) });
    // The identity provider redirects to the server's own address.
    const openBrowser = (address: string) => browse()(address.replace(belay.url, server));
    const shell = { server: belay.url, openBrowser };
    const commands = [
      ['login'],
      ['access', 'return', active],
      ['executions', 'cancel', waiting],
      ['executions', 'terminate', other],
      ['executions', 'watch', ended],
      ['logs'],
      ['whoami'],
    ];
    for (const args of commands) {
      const { code, stdout, stderr } = await terminal.run(args, shell);
      const expected = args[1] === 'watch' ? 8 : 0;
      expect([args, code, unsafe(stdout + stderr)]).toEqual([args, expected, undefined]);
      expect(stdout + stderr, args.join(' ')).toContain('all is well');
    }
    belay.between.refuse = () => ({ code: 'CONFLICT', message: hostile });
    const { stderr } = await terminal.run(['inbox', '--json'], shell);
    expect(JSON.parse(stderr)).toMatchObject({ error: { message: hostile } });
    expect(unsafe(stderr)).toBe(undefined);
  });

  it('with the code of another login gets no token', async () => {
    const openBrowser = (address: string) => {
      const other = new URL(address);
      other.searchParams.set('code_challenge', createHash('sha256').update('another secret').digest('base64url'));
      browse()(other.href);
    };
    expect(await terminal.run(['login'], { server, openBrowser })).toMatchObject({ code: 4 });
    await expect(stat(terminal.credentialsFile)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('exits with 130 on Ctrl-C before the sign-in is completed', async () => {
    const abort = new AbortController();
    const openBrowser = () => abort.abort();
    expect(await terminal.run(['login'], { server, openBrowser, signal: abort.signal })).toMatchObject({
      code: 130,
    });
  });
});

describe('login on a machine without a browser', () => {
  afterEach(() => belay.world.database.sql`delete from test_clock`);

  /** A shell in which waiting takes no time but its clocks advance. `during` runs in each wait. */
  async function patient(waits: number[], during: (times: number, userCode: string) => unknown = () => {}) {
    let now = Date.now();
    let said = '';
    const { database } = belay.world;
    await database.setTime(new Date(now));
    return {
      server,
      said: () => said,
      stderr: { write: (text: string) => void (said += text) },
      clock: () => new Date(now),
      delay: async (milliseconds: number) => {
        waits.push(milliseconds);
        now += milliseconds;
        const code = /[B-Z]{4}-[B-Z]{4}/.exec(said)?.[0] ?? '';
        if ((await during(waits.length, code)) !== 'too early') await database.setTime(new Date(now));
      },
    };
  }

  /** Confirms or denies the code as Rita, in a browser in which she is signed in. */
  async function decide(userCode: string, verdict: 'approve' | 'deny'): Promise<void> {
    const visitor = openVisitor(server);
    await visitor.signIn('demo', people.requester.subject);
    const { status } = await visitor.visit('/auth/device', { body: { user_code: userCode, verdict } });
    expect(status).toBe(200);
  }

  it('shows a short code, asks as often as it may, and keeps the token', async () => {
    const waits: number[] = [];
    const shell = await patient(waits, async (times, userCode) => {
      if (times === 2) return 'too early';
      if (times === 3) await decide(userCode, 'approve');
      return undefined;
    });
    const { code, stdout } = await terminal.run(['login', '--device'], shell);
    expect(code).toBe(0);
    expect(shell.said()).toContain(`${server}/api/v1/auth/device`);
    expect(waits).toEqual([5_000, 5_000, 10_000]);
    const { servers } = JSON.parse(await readFile(terminal.credentialsFile, 'utf8')) as {
      servers: Record<string, { token: string }>;
    };
    const token = servers[server]?.token ?? '';
    expect(token).toMatch(/^\S{32,}$/);
    expect(stdout + shell.said()).not.toContain(token);
    expect(await terminal.run(['whoami'])).toMatchObject({ code: 0 });
  });

  it('exits with 4 when rejected and with 130 when not confirmed in time, and stores nothing', async () => {
    const rejected = await patient([], (times, userCode) => (times === 2 ? decide(userCode, 'deny') : undefined));
    expect(await terminal.run(['login', '--device'], rejected)).toMatchObject({ code: 4 });
    const waits: number[] = [];
    const late = await patient(waits);
    expect(await terminal.run(['login', '--device'], late)).toMatchObject({ code: 130 });
    expect(late.said()).toContain('in time');
    expect(new Set(waits)).toEqual(new Set([5_000]));
    await expect(stat(terminal.credentialsFile)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('ends with 130 by Ctrl-C, and has no provider to choose', async () => {
    const shell = await patient([]);
    const interrupt = new AbortController();
    const running = terminal.run(['login', '--device'], {
      ...shell,
      signal: interrupt.signal,
      delay: async (_milliseconds: number, signal: AbortSignal) => {
        interrupt.abort();
        signal.throwIfAborted();
      },
    });
    expect(await running).toMatchObject({ code: 130 });
    expect(await terminal.run(['login', '--device', '--provider', 'demo'], shell)).toMatchObject({ code: 2 });
  });
});

describe('logout', () => {
  it('ends the login at the server and forgets the token, also when it had ended already', async () => {
    await terminal.run(['login'], { server, openBrowser: browse() });
    const kept = JSON.parse(await readFile(terminal.credentialsFile, 'utf8')) as {
      servers: Record<string, { token: string }>;
    };
    const token = kept.servers[server]?.token ?? '';
    expect(await terminal.run(['whoami'], { server, token })).toMatchObject({ code: 0 });
    expect(await terminal.run(['logout'])).toMatchObject({ code: 0, stdout: `signed out of ${server}\n` });
    expect(await terminal.run(['whoami'], { server, token })).toMatchObject({ code: 3 });
    expect(await terminal.run(['whoami'], { server })).toMatchObject({ code: 3 });
    expect(await terminal.run(['logout'], { server, token: 'long-expired' })).toMatchObject({ code: 0 });
  });
});
