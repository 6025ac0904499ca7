import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTerminal, screen, type Terminal } from './support/run.js';
import { entry, type Service, startService } from './support/service.js';

let service: Service;
let terminal: Terminal;

beforeEach(async () => {
  service = await startService();
  terminal = await openTerminal({ server: service.url, token: service.token });
});
afterEach(async () => {
  await terminal[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

const request = ['request', '--role', entry.role, '--provider', 'demo-postgres', '--reason', 'because'];

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
    [['approve', 'a-1']],
  ])('%j ends with 2, one line on stderr, and nothing done', async (args) => {
    const { code, stdout, stderr } = await terminal.run(args);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr.trim().split('\n').at(-1)).toMatch(/^belay: .+/);
    expect(service.changes).toEqual([]);
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
    service.state.failWith = failWith;
    const plain = await terminal.run(['access', 'return', 'e-1']);
    expect(plain).toMatchObject({ code: expected, stdout: '' });
    expect(plain.stderr).toMatch(/^belay: as the test wants it.*\n$/);
    const { code, stderr } = await terminal.run(['access', 'return', 'e-1', '--json']);
    expect(code).toBe(expected);
    expect(JSON.parse(stderr)).toEqual({ error: { code: name, message: 'as the test wants it' } });
  });

  it('to reach the server ends with 7', async () => {
    const gone = await startService();
    await gone[Symbol.asyncDispose]();
    expect(await terminal.run(['executions', 'cancel', 'e-1'], { server: gone.url })).toMatchObject({ code: 7 });
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
  it('is one JSON document with --json', async () => {
    for (const args of [
      ['whoami'],
      ['roles'],
      ['roles', entry.role],
      ['inbox'],
      ['executions'],
      ['executions', 'show', 'e-1'],
      ['access'],
      ['sessions'],
      ['logs'],
    ]) {
      const { code, stdout, stderr } = await terminal.run([...args, '--json']);
      expect([code, stderr, stdout.split('\n').length], args.join(' ')).toEqual([0, '', 2]);
      expect(() => JSON.parse(stdout), args.join(' ')).not.toThrow();
    }
  });

  it('is plain lines with tabs in a pipe', async () => {
    const { stdout } = await terminal.run(['inbox']);
    expect(stdout).toBe(
      'a-1\tada@example.com\treporting-readonly\tdemo-postgres\tPT20S\tfigures \\u{1b}[31mwrong\t2030-01-02T00:00:00.000Z\n',
    );
  });

  it('is a table in colour on a terminal, without colour when NO_COLOR is set', async () => {
    const coloured = screen();
    await terminal.run(['inbox'], { stdout: coloured });
    expect(coloured.text).toMatch(/APPROVAL +FROM/);
    expect(coloured.text).toContain('\u001b[2m');
    const plain = screen();
    await terminal.run(['inbox'], { stdout: plain, colour: false });
    expect(plain.text).toMatch(/APPROVAL +FROM/);
    expect(plain.text).not.toContain('\u001b');
  });

  it('fits the terminal', async () => {
    for (const columns of [60, 80, 120, 200]) {
      const narrow = screen(columns);
      await terminal.run(['inbox'], { stdout: narrow, colour: false });
      expect(Math.max(...narrow.text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
    }
  });

  it('wraps tables between words at 100 columns, with whole identifiers and whole colours', async () => {
    const [first] = service.state.approvals;
    const reason = 'read the reporting tables for 20 minutes, for the figures of the month end';
    service.state.approvals = [{ ...(first ?? entry), id: '01a1ff74-1a37-76e9-a58f-61fd9402ade9', reason }];
    const words = [...reason.split(' '), 'ada@example.com', entry.role, '2030-01-02T00:00:00.000Z'];
    for (const columns of [60, 100, 140, 160]) {
      const shown = screen(columns);
      await terminal.run(['inbox'], { stdout: shown });
      for (const word of words) expect(shown.text, `${word} at ${columns}`).toContain(word);
      for (const line of shown.text.split('\n')) {
        const [start = '', ...coloured] = line.split('\u001b[');
        const codes = coloured.map((part) => part.match(/^\d+m/)?.[0] ?? 'broken');
        expect(start + codes.join(' '), 'every code is whole').not.toMatch(/broken|\[\d+m/);
        expect(codes.length % 2, `every colour of a line ends in it: ${JSON.stringify(line)}`).toBe(0);
      }
    }
    const wide = screen(160);
    await terminal.run(['inbox'], { stdout: wide });
    expect(wide.text, 'wide enough for a table').toMatch(/APPROVAL +FROM/);
  });

  it('takes a terminal that does not say its width for 80 columns', async () => {
    const shown = { ...screen(0), columns: undefined };
    let text = '';
    await terminal.run(['executions', 'show', 'e-1'], {
      stdout: { ...shown, write: (part: string) => void (text += part) },
      colour: false,
    });
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('never lets text from elsewhere control the terminal', async () => {
    for (const args of [['inbox'], ['executions', 'show', 'e-1'], ['executions', 'watch', 'e-1']]) {
      const shown = screen();
      const { stderr } = await terminal.run(args, { stdout: shown, colour: false });
      expect(shown.text + stderr).not.toContain('\u001b');
    }
  });
});

describe('comments', () => {
  it('are written by comment, and as a question by ask', async () => {
    expect(await terminal.run(['comment', 'e-1', 'T-1'])).toMatchObject({ code: 0 });
    expect(await terminal.run(['ask', 'a-1', 'Which ticket?'])).toMatchObject({ code: 0 });
    expect(service.changes.slice(-2)).toMatchObject([
      { path: 'comments.add', input: { id: 'e-1', text: 'T-1' } },
      { path: 'comments.add', input: { id: 'a-1', text: 'Which ticket?', kind: 'question' } },
    ]);
  });

  it('are shown with their request, and who can decide', async () => {
    const { stdout } = await terminal.run(['executions', 'show', 'e-1']);
    expect(stdout).toContain('adam@example.com\tquestion\tWhich ticket?');
  });
});

describe('approve', () => {
  it('shows exactly what will be granted and sends the digest of it', async () => {
    const asked: string[] = [];
    const confirm = async (question: string) => {
      asked.push(question);
      return true;
    };
    const shown = screen();
    const prompts = { confirm, select: confirm, text: confirm } as never;
    const { code, stderr } = await terminal.run(['approve', 'e-1', '--comment', 'fine'], {
      stdout: shown,
      interactive: true,
      prompts,
    });
    expect(code).toBe(0);
    expect(asked).toEqual(['Approve this request?']);
    for (const part of ['ada@example.com', 'PT20S', 'sha256:one', 'role reporting_readonly', 'storage.read', 'PT1H']) {
      expect(stderr).toContain(part);
    }
    expect(service.changes).toEqual([
      expect.objectContaining({
        input: { id: 'a-1', verdict: 'approve', comment: 'fine', request_digest: 'sha256:one' },
      }),
    ]);
  });

  it('changes nothing when the answer is no', async () => {
    const prompts = { confirm: async () => false } as never;
    expect(await terminal.run(['approve', 'a-1'], { interactive: true, prompts })).toMatchObject({ code: 130 });
    expect(service.changes).toEqual([]);
  });

  it('of a request that has changed is a conflict', async () => {
    expect(await terminal.run(['approve', 'a-1', '--yes', '--digest', 'sha256:other'])).toMatchObject({ code: 6 });
    expect(service.changes).toEqual([]);
    expect(await terminal.run(['approve', 'a-1', '--yes', '--digest', 'sha256:one', '--json'])).toMatchObject({
      code: 0,
    });
  });

  it('of a request that does not wait for the caller is not found', async () => {
    service.state.approvals = [];
    expect(await terminal.run(['approve', 'a-1', '--yes'])).toMatchObject({ code: 5 });
    expect(await terminal.run(['deny', 'a-1'])).toMatchObject({ code: 5 });
  });
});
