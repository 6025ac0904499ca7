import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Belay, openBelay } from './support/belay.js';
import { idle, screen, silent, type Terminal } from './support/run.js';

/** Values that a command may read and must never print, in addition to the tokens of its logins. */
const secrets = { session: 'secret-sealed-session', input: 'secret-from-standard-input' };

let belay: Belay;
let terminal: Terminal;
/** The ids for the placeholders in the arguments. */
let ids: Record<string, string>;
/** The tokens of two valid logins: one is in the environment, one is stored. */
let environment: string;
let stored: string;

beforeAll(async () => {
  // Requests are granted at once, so that no command waits for an approver.
  belay = await openBelay(({ roles, ...rest }) => ({
    ...rest,
    roles: {
      ...roles,
      reader: { ...roles.reader, workflows: ['automatic'] },
      asked: { ...roles.reader, description: 'Approvers decide on it' },
    },
  }));
  terminal = belay.terminal;
  // The memory provider has no sessions, so put one into the response.
  const session = { version: 2, expiry: '2030-01-01T01:00:00.000Z', session: secrets.session };
  belay.between.mangle = (procedure, data) =>
    procedure === 'sessions.list' ? { ...data, sessions: { demo: session } } : undefined;
  await belay.request('--role', 'asked');
  const ended = await belay.request('--role', 'asked', '--workflow', 'rejecting');
  const { stdout } = await terminal.run(['inbox', '--json'], await belay.as('approver'));
  const { approvals } = JSON.parse(stdout) as { approvals: { id: string }[] };
  ids = { 'e-1': ended, 'a-1': approvals[0]?.id ?? '' };
});
afterAll(() => belay?.[Symbol.asyncDispose]());

// Each test gets new tokens, because some commands end a login.
beforeEach(async () => {
  [environment, stored] = [
    await belay.world.token('requester', 'device'),
    await belay.world.token('approver', 'device'),
  ];
  await mkdir(path.dirname(terminal.credentialsFile), { recursive: true });
  const login = { token: stored, expires_at: '2030-01-01T00:00:00.000Z', email: 'adam@example.test', provider: 'd' };
  await writeFile(
    terminal.credentialsFile,
    JSON.stringify({ version: 1, default: belay.url, servers: { [belay.url]: login } }),
    { mode: 0o600 },
  );
});

/** Every command, with the arguments that it needs. */
const lines: Record<string, string[]> = {
  login: ['--no-browser'],
  logout: [],
  whoami: [],
  roles: [],
  'providers list': [],
  'providers same': ['pg', '--reason', 'because'],
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
  'admin accept': ['r-1', '--left', 'granted by others', '--reason', 'because'],
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
  'user separate': ['ada@example.com', 'grace@example.com', '--reason', 'because'],
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
  test: [],
  plan: ['config', '--against', 'main'],
  init: ['new-folder'],
  schema: [],
  'ledger archive': ['archives'],
  'ledger verify': ['archives'],
  'restore begin': ['--reason', 'because'],
  'restore status': [],
  'restore revoke': ['l-1', '--reason', 'because'],
  'restore keep': ['l-1', '--reason', 'because'],
  'restore skip': ['store', '--reason', 'because'],
  'restore open': [],
  'reviews list': [],
  'reviews close': ['r-1', '--verdict', 'justified', '--note', 'because'],
  start: [],
  doctor: [],
  completion: ['bash'],
};

/** Returns the commands of the program, including those in groups, as its completion lists them. */
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
    const args = line.map((word) => ids[word] ?? word);
    for (const token of [environment, undefined, 'secret-that-no-server-knows']) {
      const stdout = screen();
      const { stderr } = await terminal.run(args, {
        stdout,
        token,
        operator,
        prompts: silent,
        readInput: async () => secrets.input,
        // Ends the wait for a login that is never completed.
        openBrowser: () => ended.abort(),
        signal: line[0] === 'login' ? AbortSignal.abort() : ended.signal,
      });
      for (const secret of ['secret-', environment, stored]) expect(stdout.text + stderr).not.toContain(secret);
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
