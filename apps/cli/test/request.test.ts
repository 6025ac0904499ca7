import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTerminal, silent, type Terminal } from './support/run.js';
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

describe('request', () => {
  it('sends what the flags say, under an idempotency key of its own', async () => {
    const args = [...request, '--duration', 'PT5M', '--identity', 'bob', '--workflow', 'approve-and-grant'];
    const { code, stdout } = await terminal.run([...args, '--no-wait', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'pending', output: { execution_id: 'e-1' } });
    expect(service.changes).toEqual([
      {
        path: 'elevation.request',
        input: {
          role: entry.role,
          providers: ['demo-postgres'],
          reason: 'because',
          duration: 'PT5M',
          identities: ['bob'],
          workflow: 'approve-and-grant',
        },
        idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/),
      },
    ]);
  });

  it('asks step by step on a terminal when it has no flags', async () => {
    const prompts = {
      ...silent,
      select: async () => entry.role,
      text: async (question: string) => (question === 'Reason?' ? 'a reason' : 'PT2M'),
      confirm: async () => true,
    };
    expect(await terminal.run(['request', '--no-wait'], { interactive: true, prompts })).toMatchObject({ code: 0 });
    expect(service.changes[0]?.input).toEqual({
      role: entry.role,
      providers: ['demo-postgres'],
      duration: 'PT2M',
      reason: 'a reason',
    });
    const declined = { ...prompts, confirm: async () => false };
    expect(await terminal.run(['request'], { interactive: true, prompts: declined })).toMatchObject({ code: 130 });
    expect(service.changes).toHaveLength(1);
  });

  it('asks where first when there is a choice, offers the roles there alone, and rejects what cannot be', async () => {
    service.state.roles = [
      { name: 'storage-read', providers: ['cloud', 'demo-postgres'] },
      { name: 'cloud-admin', providers: ['cloud'] },
    ];
    const offered: string[][] = [];
    const complaints: unknown[] = [];
    const prompts = {
      ...silent,
      select: async (question: string, choices: { value: string }[]) => {
        offered.push([question, ...choices.map(({ value }) => value)]);
        return question === 'Provider?' ? 'cloud' : 'storage-read';
      },
      text: async (question: string, { check }: { check?: (value: string) => string | undefined } = {}) => {
        if (question === 'Reason?') complaints.push(check?.(''), check?.('because'));
        else complaints.push(check?.('soon'), check?.('9d'), check?.('1h'), check?.(''));
        return question === 'Reason?' ? 'because' : '30m';
      },
      confirm: async () => true,
    };
    const { code } = await terminal.run(['request', '--no-wait'], { interactive: true, prompts });
    expect(code).toBe(0);
    expect(offered).toEqual([
      ['Provider?', 'cloud', 'demo-postgres'],
      ['Which role at cloud?', 'storage-read', 'cloud-admin'],
    ]);
    const said = expect.any(String);
    expect(complaints).toEqual([said, 'At most 1h.', undefined, undefined, said, undefined]);
    expect(service.changes[0]?.input).toEqual({
      role: 'storage-read',
      providers: ['cloud'],
      duration: '30m',
      reason: 'because',
    });
  });

  it('with --watch prints one JSON document a line and ends with 0 when the access was given', async () => {
    const { code, stdout } = await terminal.run([...request, '--watch', '--json']);
    expect(code).toBe(0);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { status: 'pending' },
      { seq: 1, event_type: 'execution.started' },
      { seq: 2, event_type: 'execution.ended' },
    ]);
  });

  it('with --watch ends with 8, and says why, when no access was given', async () => {
    service.state.granted = false;
    expect(await terminal.run([...request, '--watch'])).toMatchObject({
      code: 8,
      stderr: expect.stringContaining('no approver approved'),
    });
    expect(await terminal.run(['executions', 'watch', 'e-1'])).toMatchObject({ code: 8 });
  });
});

describe('request in words', () => {
  const sentence = 'read the revenue tables for an hour, month end';

  it('in a pipe shows what was understood, sends nothing without --yes, and says how to', async () => {
    const { code, stdout, stderr } = await terminal.run(['request', sentence]);
    expect([code, stdout]).toEqual([2, '']);
    for (const part of [entry.role, 'PT1H', 'demo-postgres', sentence, 'read, revenue', 'ledger-readonly', '--yes']) {
      expect(stderr).toContain(part);
    }
    expect(service.changes).toEqual([]);
  });

  it('with --yes sends what was understood, and what the flags say instead', async () => {
    const { code } = await terminal.run(['request', sentence, '--duration', 'PT5M', '--yes', '--no-wait']);
    expect(code).toBe(0);
    expect(service.changes.map(({ input }) => input)).toEqual([
      {
        role: entry.role,
        providers: ['demo-postgres'],
        workflow: 'approve-and-grant',
        duration: 'PT5M',
        reason: sentence,
      },
    ]);
  });

  it('with another role ignores the suggested details', async () => {
    const args = ['request', sentence, '--role', 'ledger-readonly', '--yes', '--no-wait'];
    expect(await terminal.run(args)).toMatchObject({ code: 0 });
    expect(service.changes[0]?.input).toEqual({ role: 'ledger-readonly', reason: sentence });
  });

  it('on a terminal asks after showing it, and sends nothing when the answer is no', async () => {
    const answers: boolean[] = [false, true];
    const prompts = { ...silent, confirm: async () => answers.shift() ?? false };
    const shell = { interactive: true, prompts };
    const refused = await terminal.run(['request', sentence, '--no-wait'], shell);
    expect(refused).toMatchObject({ code: 130, stderr: expect.stringContaining(entry.role) });
    expect(service.changes).toEqual([]);
    expect(await terminal.run(['request', sentence, '--no-wait'], shell)).toMatchObject({ code: 0 });
    expect(service.changes).toHaveLength(1);
  });

  it('with --dry-run only says how it was understood', async () => {
    const { code, stdout } = await terminal.run(['request', sentence, '--dry-run', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ request: { role: entry.role }, suggestion: { status: 'suggested' } });
    expect(service.changes).toEqual([]);
  });

  it('exits with 5 and sends nothing when no role matches', async () => {
    service.state.suggestion = {
      status: 'no_match',
      output: {
        suggested_role: '',
        suggested_duration: '',
        suggested_providers: [],
        workflow_id: '',
        matched: [],
        engine: 'lexical',
        alternatives: [],
      },
    };
    expect(await terminal.run(['request', 'sing a song', '--yes'])).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('belay roles'),
    });
    expect(service.changes).toEqual([]);
  });
});

describe('after a request was sent', () => {
  it('its progress is plain lines on stderr in a pipe, and its end on stdout', async () => {
    const { code, stdout, stderr } = await terminal.run(request);
    expect(code).toBe(0);
    expect(stdout).toContain('request\te-1');
    expect(stderr.split('\n').slice(0, 2)).toEqual(['waiting for the first event', 'started\\u{1b}[2J']);
    expect(stdout + stderr).not.toContain('\u001b');
  });

  it('with --json each line is a document, and the last says whether it is active', async () => {
    service.state.granted = false;
    const { code, stdout, stderr } = await terminal.run([...request, '--json']);
    expect([code, stderr]).toEqual([8, '']);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines[0]).toMatchObject({ status: 'pending' });
    expect(lines.at(-1)).toMatchObject({
      execution_id: 'e-1',
      active: false,
      error: { detail: 'no approver approved' },
    });
  });

  it('Ctrl-C ends the waiting and says that the request continues', async () => {
    const interrupt = new AbortController();
    const stdout = {
      write: (text: string) => {
        if (text.includes('e-1')) interrupt.abort();
      },
    };
    const { code, stderr } = await terminal.run(request, { signal: interrupt.signal, stdout });
    expect(code).toBe(130);
    expect(stderr).toContain('the request continues: belay executions watch e-1');
    expect(service.changes.map(({ path }) => path)).toEqual(['elevation.request']);
  });
});
