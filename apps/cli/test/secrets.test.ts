import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { idle, openTerminal, screen, silent, type Terminal } from './support/run.js';
import { type Service, startService } from './support/service.js';

/** What a command may know and may never show. */
const secrets = {
  environment: 'secret-from-the-environment',
  saved: 'secret-of-a-saved-login',
  session: 'secret-sealed-session',
  input: 'secret-from-standard-input',
};

let service: Service;
let terminal: Terminal;

beforeEach(async () => {
  service = await startService({ token: secrets.environment, session: secrets.session });
  terminal = await openTerminal({ server: service.url });
  await mkdir(path.dirname(terminal.credentialsFile), { recursive: true });
  const login = {
    token: secrets.saved,
    expires_at: '2030-01-01T00:00:00.000Z',
    email: 'ada@example.com',
    provider: 'd',
  };
  await writeFile(
    terminal.credentialsFile,
    JSON.stringify({ version: 1, default: service.url, servers: { [service.url]: login } }),
    { mode: 0o600 },
  );
});
afterEach(async () => {
  await terminal[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

/** Every command there is, with the arguments that it needs. */
const lines: Record<string, string[]> = {
  login: ['--no-browser'],
  logout: [],
  whoami: [],
  roles: [],
  providers: [],
  request: ['read the revenue tables', '--yes'],
  inbox: [],
  approve: ['a-1', '--yes'],
  deny: ['a-1'],
  'executions list': [],
  'executions show': ['e-1'],
  'executions watch': ['e-1'],
  wait: ['e-1'],
  'executions cancel': ['e-1'],
  'executions terminate': ['e-1'],
  'access list': [],
  'access return': ['e-1'],
  'access revoke': ['e-1', '--reason', 'because'],
  'admin access': [],
  'admin agents': [],
  'admin changes': [],
  'admin end-login': ['l-1', '--reason', 'because'],
  'admin export': [],
  'admin overdue': [],
  'admin people': [],
  'admin person': ['ada@example.com'],
  'admin remove-agent': ['a-1', '--reason', 'because'],
  'admin retry': ['r-1', '--reason', 'because'],
  'admin revoke': ['--user', 'ada@example.com', '--reason', 'because'],
  'admin stop': ['ada@example.com', '--reason', 'because'],
  ask: ['e-1', 'Which ticket?'],
  comment: ['e-1', 'This one'],
  extend: ['e-1'],
  history: [],
  notifications: [],
  open: [],
  run: ['reader', '--reason', 'because', '--', 'true'],
  sessions: [],
  logs: [],
  'token create': ['--user', 'bot@example.com', '--ttl', 'PT1H'],
  'token list': [],
  'token revoke': ['t-1'],
  'user stop': ['bot@example.com', '--reason', 'because'],
  'scim create-token': ['--provider', 'okta', '--ttl', 'P180D'],
  'scim list-tokens': [],
  'scim revoke-token': ['t-1'],
  'agent run': [],
  'agent status': [],
  'agent join': ['--url', 'https://belay.example.com'],
  'agent install': ['--print'],
  'agent uninstall': [],
  'agent enroll': ['--name', 'build', '--ttl', 'P1D'],
  'encryption rotate': [],
  'vault set': ['path#key'],
  'vault list': [],
  'vault remove': ['path#key'],
  validate: [],
  start: [],
  doctor: [],
  completion: ['bash'],
};

/** The commands of the program, groups written out, as it tells them itself. */
async function listCommands(group: string[] = []): Promise<string[]> {
  const { stdout } = await terminal.run(['__complete', ...group, '']);
  const names = stdout.split('\n').flatMap((line) => line.split('\t')[0] || []);
  const below = await Promise.all(
    names
      .filter((name) => name !== 'help')
      .map(async (name) => {
        const help = await terminal.run([...group, name, '--help']);
        const isGroup = /^Usage: belay \S+ .*\[command\]/m.test(help.stdout);
        return isGroup && group.length === 0 ? listCommands([name]) : [[...group, name].join(' ')];
      }),
  );
  return below.flat();
}

describe('no command shows a secret', () => {
  it('and this suite covers every command', async () => {
    expect((await listCommands()).sort()).toEqual(Object.keys(lines).sort());
  });

  const attempts = Object.entries(lines).flatMap(([name, args]) => [
    [[...name.split(' '), ...args]],
    [[...name.split(' '), ...args, '--json']],
  ]);
  it.each(attempts)('%j', async (line) => {
    const ended = new AbortController();
    const operator = { ...idle, listSecrets: async () => [{ path: 'path', key: 'key' }] };
    for (const token of [secrets.environment, undefined, 'secret-that-nobody-knows']) {
      const stdout = screen();
      const { stderr } = await terminal.run(line, {
        stdout,
        token,
        operator,
        prompts: silent,
        readInput: async () => secrets.input,
        // Ends a wait without a limit: a login that is never completed.
        openBrowser: () => ended.abort(),
        signal: line[0] === 'login' ? AbortSignal.abort() : ended.signal,
      });
      expect(stdout.text + stderr).not.toContain('secret-');
    }
  });

  it('except the command that creates it, which prints it once', async () => {
    const made = {
      token: 'secret-made-once',
      expires_at: '2030-01-01T00:00:00.000Z',
      user: { email: 'bot@example.com' },
    };
    const operator = { ...idle, createToken: async () => made };
    const { stdout, stderr } = await terminal.run(['token', 'create', '--user', 'b', '--ttl', 'PT1H'], { operator });
    expect(stdout).toBe('secret-made-once\n');
    expect(stderr).not.toContain('secret-');
  });
});
