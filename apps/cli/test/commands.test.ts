import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Belay, openBelay } from './support/belay.js';
import { findClosedPort } from './support/closed-port.js';
import { type Ran, screen, type Terminal } from './support/run.js';

let belay: Belay;
let terminal: Terminal;
let adam: { server: string; token: string };
/** A request of Rita that waits for Adam, and its approval. */
let execution: string;
let approval: string;
let digest: string;

beforeAll(async () => {
  belay = await openBelay();
  terminal = belay.terminal;
  adam = await belay.as('approver');
});
afterEach(async () => {
  belay.between.refuse = undefined;
  belay.between.mangle = undefined;
  belay.between.requests.length = 0;
});
afterAll(() => belay?.[Symbol.asyncDispose]());

type Waiting = { id: string; request_digest: string; expires_at: string };

async function readInbox(): Promise<Waiting> {
  const { stdout } = await terminal.run(['inbox', '--json'], adam);
  const { approvals } = JSON.parse(stdout) as { approvals: Waiting[] };
  const [only, ...others] = approvals;
  if (!only || others.length > 0) throw new Error(stdout);
  return only;
}

/** Makes a request for each test of a group and cancels it afterwards, so that it is not in the list of the next test. */
function withRequest(): void {
  beforeEach(async () => {
    execution = await belay.request('--role', 'reader', '--duration', 'PT20M');
    const waiting = await readInbox();
    [approval, digest] = [waiting.id, waiting.request_digest];
    belay.between.requests.length = 0;
  });
  afterEach(async () => {
    belay.between.refuse = undefined;
    belay.between.mangle = undefined;
    await terminal.run(['executions', 'cancel', execution]);
    await belay.world.drive();
  });
}

const request = ['request', '--role', 'reader', '--provider', 'store', '--reason', 'because'];
/** A reason with escape sequences, which would drive a terminal that prints them. */
const hostile = 'figures \u001b[31mwrong';

function endsWithUsage({ code, stdout, stderr }: Ran): void {
  expect(code).toBe(2);
  expect(stdout).toBe('');
  expect(stderr.trim().split('\n').at(-1)).toMatch(/^belay: .+/);
  expect(belay.changes()).toEqual([]);
}

describe('the command line', () => {
  it.each([
    [['--no-such-option']],
    [['no-such-command']],
    [['approve']],
    [['roles', 'one', 'two']],
    [['request', '--reason', 'because']],
    [['token', 'create', '--user', 'a@example.com']],
    [['executions', 'watch', 'e-1', '--after', 'soon']],
    [['whoami', '--server', 'belay.example.com']],
  ])('%j ends with 2, one line on stderr, and nothing done', async (args) => {
    endsWithUsage(await terminal.run(args));
  });

  it('reports usage errors as JSON with --json', async () => {
    const { code, stderr } = await terminal.run(['whoami', '--json', '--colour']);
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toEqual({ error: { code: 'usage', message: expect.stringContaining('--colour') } });
  });

  it('prints its help on stdout and ends with 0, without a command on stderr and with 2', async () => {
    expect(await terminal.run(['--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('approve'),
      stderr: '',
    });
    expect(await terminal.run([])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('approve') });
    expect(await terminal.run(['token'])).toMatchObject({ code: 2, stderr: expect.stringContaining('create') });
  });
});

describe('a failure', () => {
  it.each([
    ['BAD_REQUEST', 2, 'invalid'],
    ['UNAUTHORIZED', 3, 'unauthenticated'],
    ['FORBIDDEN', 4, 'forbidden'],
    ['NOT_FOUND', 5, 'not_found'],
    ['CONFLICT', 6, 'conflict'],
    ['SERVICE_UNAVAILABLE', 7, 'unavailable'],
    ['INTERNAL_SERVER_ERROR', 1, 'internal'],
    ['NOT_IMPLEMENTED', 1, 'not_configured'],
  ] as const)('of the kind %s ends with %i', async (failWith, expected, name) => {
    belay.between.refuse = () => ({ code: failWith, message: 'as the test wants it' });
    const plain = await terminal.run(['access', 'return', 'e-1']);
    expect(plain).toMatchObject({ code: expected, stdout: '' });
    expect(plain.stderr).toMatch(/^belay: as the test wants it.*\n$/);
    const { code, stderr } = await terminal.run(['access', 'return', 'e-1', '--json']);
    expect(code).toBe(expected);
    expect(JSON.parse(stderr)).toEqual({ error: { code: name, message: 'as the test wants it' } });
  });

  it('to reach the server ends with 7', async () => {
    const server = await findClosedPort();
    expect(await terminal.run(['executions', 'cancel', 'e-1'], { server })).toMatchObject({ code: 7 });
  });

  it.each([
    [['whoami']],
    [['roles']],
    [['inbox']],
    [['executions']],
    [['executions', 'watch', 'e-1']],
    [['access']],
    [['logs', '--follow']],
    [['login', '--no-browser']],
    [['login', '--device']],
    [['logout']],
    [request],
  ])('of a server that takes connections and never answers ends %j with 7, and says so', async (args) => {
    const mute = createServer(() => {}).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const server = `http://127.0.0.1:${(mute.address() as AddressInfo).port}`;
    try {
      const { code, stdout, stderr } = await terminal.run(args, { server, patience: 200 });
      expect(stderr).toContain(`no response from ${server} within 0.2 seconds`);
      expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
    } finally {
      mute.closeAllConnections();
      mute.close();
    }
  });

  it('to be signed in ends with 3 and says how to be', async () => {
    const { code, stderr } = await terminal.run(['whoami'], { token: undefined });
    expect(code).toBe(3);
    expect(stderr).toContain('belay login');
  });

  it('never shows the token', async () => {
    for (const args of [['whoami'], ['whoami', '--json'], ['roles'], request]) {
      const { stdout, stderr } = await terminal.run(args, { token: 'a-wrong-secret-token' });
      expect(stdout + stderr).not.toContain('secret-token');
    }
  });

  it('by Ctrl-C ends with 130', async () => {
    expect(await terminal.run(['whoami'], { signal: AbortSignal.abort() })).toMatchObject({ code: 130 });
  });
});

describe('output', () => {
  withRequest();

  it('is one JSON document with --json', async () => {
    for (const args of [
      ['whoami'],
      ['roles'],
      ['roles', 'reader'],
      ['inbox'],
      ['executions'],
      ['executions', 'show', execution],
      ['access'],
      ['sessions'],
      ['logs', '--limit', '1'],
    ]) {
      const { code, stdout, stderr } = await terminal.run([...args, '--json']);
      expect([code, stderr, stdout.split('\n').length], args.join(' ')).toEqual([0, '', 2]);
      expect(() => JSON.parse(stdout), args.join(' ')).not.toThrow();
    }
  });

  it('is plain lines with tabs in a pipe', async () => {
    const { stdout } = await terminal.run(['inbox'], adam);
    expect(stdout.split('\t')).toEqual([
      approval,
      'rita@example.test',
      'reader',
      'store',
      'PT20M',
      'month end',
      expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z\n$/),
    ]);
  });

  it('is a table in colour on a terminal, without colour when NO_COLOR is set', async () => {
    const coloured = screen();
    await terminal.run(['inbox'], { ...adam, stdout: coloured });
    expect(coloured.text).toMatch(/APPROVAL +FROM/);
    expect(coloured.text).toContain('\u001b[2m');
    const plain = screen();
    await terminal.run(['inbox'], { ...adam, stdout: plain, colour: false });
    expect(plain.text).toMatch(/APPROVAL +FROM/);
    expect(plain.text).not.toContain('\u001b');
  });

  it('fits the terminal', async () => {
    for (const columns of [60, 80, 120, 200]) {
      const narrow = screen(columns);
      await terminal.run(['inbox'], { ...adam, stdout: narrow, colour: false });
      expect(Math.max(...narrow.text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
    }
  });

  it('wraps tables between words at 100 columns, with identifiers to copy and whole colours', async () => {
    const reason = 'read the reporting tables for 20 minutes, for the figures of the month end';
    await terminal.run(['executions', 'cancel', execution]);
    await belay.world.drive();
    const args = ['request', '--role', 'reader', '--reason', reason, '--no-wait', '--jq', '.output.execution_id'];
    execution = (await terminal.run(args)).stdout.trim();
    await belay.world.drive();
    const { id, expires_at } = await readInbox();
    // The clock stands still: half a second later, the time limit of 1h would be shown as 59m.
    const clock = () => new Date(Date.parse(expires_at) - 3_600_000);
    const words = [...reason.split(' '), 'rita@example.test', 'reader', id.slice(0, 13), '1h'];
    for (const columns of [60, 100, 140, 160]) {
      const shown = screen(columns);
      await terminal.run(['inbox'], { ...adam, clock, stdout: shown });
      for (const word of words) expect(shown.text, `${word} at ${columns}`).toContain(word);
      for (const line of shown.text.split('\n')) {
        const [start = '', ...coloured] = line.split('\u001b[');
        const codes = coloured.map((part) => part.match(/^\d+m/)?.[0] ?? 'broken');
        expect(start + codes.join(' '), 'every code is whole').not.toMatch(/broken|\[\d+m/);
        expect(codes.length % 2, `every colour of a line ends in it: ${JSON.stringify(line)}`).toBe(0);
      }
    }
    const wide = screen(160);
    await terminal.run(['inbox'], { ...adam, clock, stdout: wide });
    expect(wide.text, 'wide enough for a table').toMatch(/APPROVAL +FROM/);
  });

  it('takes a terminal that does not say its width for 80 columns', async () => {
    const shown = { ...screen(0), columns: undefined };
    let text = '';
    await terminal.run(['executions', 'show', execution], {
      stdout: { ...shown, write: (part: string) => void (text += part) },
      colour: false,
    });
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('never lets text from elsewhere control the terminal', async () => {
    const args = [
      'request',
      '--role',
      'reader',
      '--workflow',
      'rejecting',
      '--reason',
      'month end',
      '--no-wait',
      '--jq',
      '.output.execution_id',
    ];
    const ended = (await terminal.run(args)).stdout.trim();
    await belay.world.drive();
    // The server does not accept such a text, but a malicious server could send it.
    await terminal.run(['comment', execution, 'T-1']);
    await belay.world.database.sql`update ledger set message = ${hostile} where execution_id = ${ended}`;
    const escaped = JSON.stringify(hostile).slice(1, -1);
    belay.between.mangle = (_, data) => JSON.parse(JSON.stringify(data).replaceAll(/month end|T-1/g, escaped));
    for (const line of [['inbox'], ['executions', 'show', execution], ['executions', 'watch', ended]]) {
      const shown = screen();
      const { stderr } = await terminal.run(line, {
        ...(line[0] === 'inbox' ? adam : {}),
        stdout: shown,
        colour: false,
      });
      expect(shown.text, line.join(' ')).toContain('wrong');
      expect(shown.text + stderr).not.toContain('\u001b');
    }
  });
});

describe('comments', () => {
  withRequest();

  it('are written by comment, and as a question by ask', async () => {
    expect(await terminal.run(['comment', execution, 'T-1'])).toMatchObject({ code: 0 });
    expect(await terminal.run(['ask', approval, 'Which ticket?'], adam)).toMatchObject({ code: 0 });
    expect(belay.changes()).toMatchObject([
      { path: 'comments.add', input: { id: execution, text: 'T-1' } },
      { path: 'comments.add', input: { id: execution, text: 'Which ticket?', kind: 'question' } },
    ]);
  });

  it('are shown with their request, and who can decide', async () => {
    await terminal.run(['ask', approval, 'Which ticket?'], adam);
    const { stdout } = await terminal.run(['executions', 'show', execution]);
    expect(stdout).toContain('adam@example.test\tquestion\tWhich ticket?');
  });
});

describe('approve', () => {
  withRequest();

  it('shows exactly what will be granted and sends the digest of it', async () => {
    const asked: string[] = [];
    const confirm = async (question: string) => {
      asked.push(question);
      return true;
    };
    const shown = screen();
    const prompts = { confirm, select: confirm, text: confirm } as never;
    const { code, stderr } = await terminal.run(['approve', execution, '--comment', 'fine'], {
      ...adam,
      stdout: shown,
      interactive: true,
      prompts,
    });
    expect(code).toBe(0);
    expect(asked).toEqual(['Approve this request?']);
    for (const part of ['rita@example.test', 'PT20M', digest, 'role read', 'month end']) {
      expect(stderr).toContain(part);
    }
    expect(belay.changes()).toEqual([
      expect.objectContaining({
        input: { id: approval, verdict: 'approve', comment: 'fine', request_digest: digest },
      }),
    ]);
  });

  it('without a person to ask ends with 2, one line on stderr, and nothing done', async () => {
    endsWithUsage(await terminal.run(['approve', approval], adam));
  });

  it('changes nothing when the answer is no', async () => {
    const prompts = { confirm: async () => false } as never;
    expect(await terminal.run(['approve', approval], { ...adam, interactive: true, prompts })).toMatchObject({
      code: 130,
    });
    expect(belay.changes()).toEqual([]);
  });

  it('of a request that has changed is a conflict', async () => {
    expect(await terminal.run(['approve', approval, '--yes', '--digest', 'sha256:other'], adam)).toMatchObject({
      code: 6,
    });
    expect(belay.changes()).toEqual([]);
    expect(await terminal.run(['approve', approval, '--yes', '--digest', digest, '--json'], adam)).toMatchObject({
      code: 0,
    });
  });

  it('of a request that does not wait for the caller is not found', async () => {
    expect(await terminal.run(['approve', approval, '--yes'])).toMatchObject({ code: 5 });
    expect(await terminal.run(['deny', approval])).toMatchObject({ code: 5 });
  });
});
