import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Belay, openBelay } from './support/belay.js';
import { silent, type Terminal } from './support/run.js';

let belay: Belay;
let terminal: Terminal;

beforeEach(async () => {
  belay = await openBelay();
  terminal = belay.terminal;
});
afterEach(() => belay[Symbol.asyncDispose]());

const request = ['request', '--role', 'reader', '--provider', 'store', '--reason', 'because'];
const granted = [...request, '--workflow', 'automatic'];
const rejected = [...request, '--workflow', 'rejecting'];

/** Starts a server whose engineers can request roles at two providers. */
async function openLarger(): Promise<Belay> {
  return openBelay(({ providers, roles: { reader }, ...rest }) => ({
    ...rest,
    providers: { ...providers, cloud: { provider: 'memory' } },
    roles: {
      reader,
      'storage-copy': {
        ...reader,
        description: 'Copy files of the storage',
        providers: ['cloud', 'store'],
        inherits: ['cloud:read', 'store:read'],
      },
      'cloud-admin': { ...reader, description: 'Machines', providers: ['cloud'], inherits: ['cloud:read'] },
    },
  }));
}

/** Parses the output of a command, one document per line. */
const documents = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);

describe('request', () => {
  it('sends what the flags say, under an idempotency key of its own', async () => {
    const args = [
      ...request,
      '--duration',
      'PT5M',
      '--identity',
      'bob@example.test',
      '--workflow',
      'approve-and-grant',
    ];
    await terminal.run([...args, '--no-wait', '--json']);
    expect(belay.changes()).toEqual([
      {
        path: 'elevation.request',
        input: {
          role: 'reader',
          providers: ['store'],
          reason: 'because',
          duration: 'PT5M',
          identities: ['bob@example.test'],
          workflow: 'approve-and-grant',
        },
        idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/),
      },
    ]);
    const { code, stdout } = await terminal.run([...request, '--no-wait', '--json']);
    expect(code).toBe(0);
    const { output, status } = JSON.parse(stdout) as { status: string; output: { execution_id: string } };
    expect(status).toBe('pending');
    expect(await terminal.run(['executions', 'show', output.execution_id])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('because'),
    });
  });

  it('asks step by step on a terminal when it has no flags', async () => {
    const prompts = {
      ...silent,
      select: async () => 'reader',
      text: async (question: string) => (question === 'Reason?' ? 'a reason' : 'PT2M'),
      confirm: async () => true,
    };
    expect(await terminal.run(['request', '--no-wait'], { interactive: true, prompts })).toMatchObject({ code: 0 });
    expect(belay.changes()[0]?.input).toEqual({
      role: 'reader',
      providers: ['store'],
      duration: 'PT2M',
      reason: 'a reason',
    });
    const declined = { ...prompts, confirm: async () => false };
    expect(await terminal.run(['request'], { interactive: true, prompts: declined })).toMatchObject({ code: 130 });
    expect(belay.changes()).toHaveLength(1);
  });

  it('asks where first when there is a choice, offers the roles there alone, and rejects what cannot be', async () => {
    await using larger = await openLarger();
    const offered: string[][] = [];
    const complaints: unknown[] = [];
    const prompts = {
      ...silent,
      select: async (question: string, choices: { value: string }[]) => {
        offered.push([question, ...choices.map(({ value }) => value)]);
        return question === 'Provider?' ? 'cloud' : 'storage-copy';
      },
      text: async (question: string, { check }: { check?: (value: string) => string | undefined } = {}) => {
        if (question === 'Reason?') complaints.push(check?.(''), check?.('because'));
        else complaints.push(check?.('soon'), check?.('9d'), check?.('1h'), check?.(''));
        return question === 'Reason?' ? 'because' : '30m';
      },
      confirm: async () => true,
    };
    expect(await larger.terminal.run(['request', '--no-wait'], { interactive: true, prompts })).toMatchObject({
      code: 0,
    });
    expect(offered).toEqual([
      ['Provider?', 'cloud', 'store'],
      ['Which role at cloud?', 'cloud-admin', 'storage-copy'],
    ]);
    const said = expect.any(String);
    expect(complaints).toEqual([said, 'At most 1h.', undefined, undefined, said, undefined]);
    expect(larger.changes()[0]?.input).toEqual({
      role: 'storage-copy',
      providers: ['cloud'],
      duration: '30m',
      reason: 'because',
    });
  });

  it('with --watch prints one JSON document a line and ends with 0 when the access was given', async () => {
    let stdout = '';
    let passed: Promise<void> | undefined;
    const write = (text: string) => {
      stdout += text;
      // As soon as the access is held, let its time pass.
      if (text.includes('/do/1/hold')) passed ??= pass(20 * 60_000);
    };
    const pass = async (milliseconds: number) => {
      await belay.world.database.setTime(new Date(Date.now() + milliseconds));
      await belay.world.drive();
    };
    const { code } = await terminal.run([...granted, '--watch', '--json'], { stdout: { write } });
    await passed;
    expect(code).toBe(0);
    expect(documents(stdout).slice(0, 2)).toMatchObject([
      { status: 'pending' },
      { seq: expect.anything(), event_type: 'elevation.requested' },
    ]);
    expect(documents(stdout).at(-1)).toMatchObject({ event_type: expect.stringContaining('workflow.completed') });
  });

  it('with --watch ends with 8, and says why, when no access was given', async () => {
    expect(await terminal.run([...rejected, '--watch'])).toMatchObject({
      code: 8,
      stderr: expect.stringContaining('no approver approved'),
    });
    const id = await belay.request('--role', 'reader', '--workflow', 'rejecting');
    expect(await terminal.run(['executions', 'watch', id])).toMatchObject({ code: 8 });
  });
});

describe('request in words', () => {
  const sentence = 'copy files of the storage for an hour, month end';

  it('in a pipe shows what was understood, sends nothing without --yes, and says how to', async () => {
    await using larger = await openLarger();
    const { code, stdout, stderr } = await larger.terminal.run(['request', sentence]);
    expect([code, stdout]).toEqual([2, '']);
    for (const part of ['storage-copy', 'PT1H', 'cloud', sentence, 'copy, files', '--yes']) {
      expect(stderr).toContain(part);
    }
    expect(larger.changes()).toEqual([]);
  });

  it('with --yes sends what was understood, and what the flags say instead', async () => {
    const { code } = await terminal.run([
      'request',
      'read the store for an hour',
      '--duration',
      'PT5M',
      '--yes',
      '--no-wait',
    ]);
    expect(code).toBe(0);
    expect(belay.changes().map(({ input }) => input)).toEqual([
      {
        role: 'reader',
        providers: ['store'],
        workflow: 'approve-and-grant',
        duration: 'PT5M',
        reason: 'read the store for an hour',
      },
    ]);
  });

  it('with another role ignores the suggested details', async () => {
    await using larger = await openLarger();
    const args = ['request', sentence, '--role', 'cloud-admin', '--yes', '--no-wait'];
    expect(await larger.terminal.run(args)).toMatchObject({ code: 0 });
    expect(larger.changes()[0]?.input).toEqual({ role: 'cloud-admin', reason: sentence });
  });

  it('on a terminal asks after showing it, and sends nothing when the answer is no', async () => {
    const answers: boolean[] = [false, true];
    const prompts = { ...silent, confirm: async () => answers.shift() ?? false };
    const shell = { interactive: true, prompts };
    const refused = await terminal.run(['request', 'read the store', '--no-wait'], shell);
    expect(refused).toMatchObject({ code: 130, stderr: expect.stringContaining('reader') });
    expect(belay.changes()).toEqual([]);
    expect(await terminal.run(['request', 'read the store', '--no-wait'], shell)).toMatchObject({ code: 0 });
    expect(belay.changes()).toHaveLength(1);
  });

  it('with --dry-run only says how it was understood', async () => {
    const { code, stdout } = await terminal.run(['request', 'read the store', '--dry-run', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ request: { role: 'reader' }, suggestion: { status: 'suggested' } });
    expect(belay.changes()).toEqual([]);
  });

  it('exits with 5 and sends nothing when no role matches', async () => {
    expect(await terminal.run(['request', 'sing a song', '--yes'])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('belay roles'),
    });
    expect(belay.changes()).toEqual([]);
  });
});

describe('after a request was sent', () => {
  it('its progress is plain lines on stderr in a pipe, and its end on stdout', async () => {
    const { code, stdout, stderr } = await terminal.run(granted);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^request\t[0-9a-f-]{36}$/m);
    expect(stderr.split('\n')[0]).toBe('waiting for the first event');
    expect(stderr).toContain('rita@example.test requests reader at store');
    expect(stdout + stderr).not.toContain('\u001b');
  });

  it('with --json each line is a document, and the last says whether it is active', async () => {
    const { code, stdout, stderr } = await terminal.run([...rejected, '--json']);
    expect([code, stderr]).toEqual([8, '']);
    const lines = documents(stdout);
    const [first] = lines as { output: { execution_id: string } }[];
    expect(first).toMatchObject({ status: 'pending' });
    expect(lines.at(-1)).toMatchObject({
      execution_id: first?.output.execution_id,
      active: false,
      error: { detail: 'no approver approved' },
    });
  });

  it('Ctrl-C ends the waiting and says that the request continues', async () => {
    const interrupt = new AbortController();
    const stdout = {
      write: (text: string) => {
        if (/[0-9a-f-]{36}/.test(text)) interrupt.abort();
      },
    };
    const { code, stderr } = await terminal.run(request, { signal: interrupt.signal, stdout });
    expect(code).toBe(130);
    expect(stderr).toMatch(/the request continues: belay executions watch [0-9a-f-]{36}/);
    expect(belay.changes().map(({ path }) => path)).toEqual(['elevation.request']);
  });
});
