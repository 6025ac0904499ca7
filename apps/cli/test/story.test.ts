import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { signInThroughDemo } from './support/browser.js';
import { type Installation, type Person, startInstallation } from './support/installation.js';

let installation: Installation;
let rita: Person;
let adam: Person;
let bea: Person;

beforeAll(async () => {
  installation = await startInstallation();
  [rita, adam, bea] = await Promise.all([installation.person(), installation.person(), installation.person()]);
  for (const [person, email] of [
    [rita, 'rita@example.com'],
    [adam, 'adam@example.com'],
    [bea, 'bea@example.com'],
  ] as const) {
    expect(await person.login(email)).toMatchObject({ code: 0, stdout: expect.stringContaining(email) });
  }
});
afterAll(() => installation?.[Symbol.asyncDispose]());

const wanted = ['--role', 'reporting-readonly', '--provider', 'demo-postgres', '--reason', 'the figures look wrong'];

async function ask(duration: string): Promise<string> {
  const { code, stdout, stderr } = await rita.belay(
    'request',
    ...wanted,
    '--duration',
    duration,
    '--no-wait',
    '--json',
  );
  expect([code, stderr]).toEqual([0, '']);
  return (JSON.parse(stdout) as { output: { execution_id: string } }).output.execution_id;
}

interface Waiting {
  execution_id: string;
  request_digest: string;
  grants: unknown[];
}

/** Waits for the approval, which a worker opens a moment after the response to the request. */
async function waitForInbox(execution: string): Promise<Waiting> {
  return vi.waitFor(
    async () => {
      const { approvals } = JSON.parse((await adam.belay('inbox', '--json')).stdout) as { approvals: Waiting[] };
      const found = approvals.find(({ execution_id }) => execution_id === execution);
      if (!found) throw new Error(`${execution} is not in the inbox`);
      return found;
    },
    { timeout: 60_000, interval: 100 },
  );
}

describe('the story on the command line, against the real server', () => {
  it('knows who is signed in, and what they can request', async () => {
    const { stdout } = await rita.belay('whoami', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      email: 'rita@example.com',
      groups: ['engineers'],
      server: installation.url,
    });
    expect((await rita.belay('roles')).stdout).toContain('reporting-readonly');
    expect((await bea.belay('roles')).stdout).not.toContain('reporting-readonly');
    expect(await bea.belay('request', ...wanted)).toMatchObject({ code: expect.toBeOneOf([4, 5]) });
  });

  it('grants what was approved, revokes it at its expiry, and shows each step', async () => {
    const id = await ask('PT2S');
    const waiting = await waitForInbox(id);
    expect(waiting.grants).toMatchObject([{ provider: 'demo-postgres' }]);
    for (const person of [rita, bea]) {
      expect(await person.belay('approve', id, '--yes')).toMatchObject({ code: expect.toBeOneOf([4, 5]) });
    }
    const watching = rita.belay('executions', 'watch', id, '--json');
    expect(await adam.belay('approve', id, '--yes', '--digest', waiting.request_digest)).toMatchObject({ code: 0 });
    const { code, stdout } = await watching;
    const types = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { event_type: string }).event_type);
    expect(code).toBe(0);
    expect(types).toEqual(expect.arrayContaining(['entitlement.granted', 'entitlement.revoked']));
    expect(new Set(types).size).toBeGreaterThan(3);
    const shown = await rita.belay('executions', 'show', id);
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('entitlement.revoked') });
    expect(await adam.belay('approve', id, '--yes')).toMatchObject({ code: 5 });
  });

  it('ends a watch with 8 when the request was denied', async () => {
    const id = await ask('PT1M');
    await waitForInbox(id);
    expect(await adam.belay('deny', id, '--comment', 'not today')).toMatchObject({ code: 0 });
    expect(await rita.belay('executions', 'watch', id)).toMatchObject({ code: 8 });
  });

  it('cancels a request once, and never another person’s', async () => {
    const id = await ask('PT1M');
    await waitForInbox(id);
    expect(await bea.belay('executions', 'cancel', id)).toMatchObject({ code: expect.toBeOneOf([4, 5]) });
    expect(await rita.belay('executions', 'cancel', id)).toMatchObject({ code: 0 });
    expect(await rita.belay('executions', 'watch', id)).toMatchObject({ code: 8 });
    expect(await rita.belay('executions', 'cancel', id)).toMatchObject({ code: 6 });
  });

  it('gives access back early', async () => {
    const id = await ask('PT10M');
    await waitForInbox(id);
    await adam.belay('approve', id, '--yes');
    await expect
      .poll(async () => (await rita.belay('access')).stdout, { timeout: 60_000 })
      .toMatch(new RegExp(`${id}.*\tactive\t`));
    expect(await rita.belay('access', 'return', id)).toMatchObject({ code: 0 });
    expect(await rita.belay('executions', 'watch', id)).toMatchObject({ code: 0 });
    expect(await rita.belay('access')).toMatchObject({ code: 0, stdout: '' });
  });

  it('names what is wrong with a request', async () => {
    const { code, stderr } = await rita.belay('request', ...wanted, '--duration', 'soon', '--json');
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'invalid', issues: [{ path: 'duration' }] } });
    expect(await rita.belay('executions', 'show', '00000000-0000-4000-8000-000000000000')).toMatchObject({ code: 5 });
  });

  it('makes tokens for automation beside the running server, and prints nothing else', async () => {
    const create = ['token', 'create', '--user', 'bot@example.com', '--ttl'];
    const made = await installation.program([...create, 'PT1H', '--group', 'engineers']);
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S{20,}\n$/) });
    const token = made.stdout.trim();
    const asBot = await installation.program(['whoami', '--json'], { BELAY_TOKEN: token });
    expect(asBot).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(asBot.stdout)).toMatchObject({ email: 'bot@example.com', groups: ['engineers'] });
    expect(asBot.stdout).not.toContain(token);
    expect(await installation.operate(...create, 'soon')).toMatchObject({ code: 2, stdout: '' });
  });

  it('validates a configuration without a server', async () => {
    const file = path.join(installation.folder, 'checked.yaml');
    await writeFile(file, 'roles:\n  broken:\n    providers: [nowhere]\n    workflows: [none]\n');
    const broken = await installation.operate('validate', file);
    expect(broken).toMatchObject({ code: 1, stdout: expect.stringContaining('broken') });
    await writeFile(file, 'version: 1\n');
    const whole = await installation.operate('validate', file, '--json');
    expect(whole).toMatchObject({ code: 0, stdout: expect.stringContaining('"ok":true') });
    expect(await installation.operate('validate')).toMatchObject({ code: 2 });
  });

  it('signs in on a machine without a browser, by a code that a person confirms in one', async () => {
    const headless = await installation.person();
    const confirmed: Promise<unknown>[] = [];
    const stderr = {
      write: (text: string) => {
        const code = /\b([A-Z]{4}-[A-Z]{4})\b/.exec(text)?.[1];
        if (code === undefined) return;
        const page = new URL('/api/v1/auth/device', installation.url);
        const signIn = new URL('/api/v1/auth/request/demo', installation.url);
        confirmed.push(
          signInThroughDemo(`${signIn}?callback=${encodeURIComponent(`${page}`)}`, 'rita@example.com').then((send) =>
            send(new URL(`${page}?user_code=${code}`), { user_code: code, verdict: 'approve' }),
          ),
        );
      },
    };
    expect(await headless.run(['login', '--device'], { stderr })).toMatchObject({ code: 0 });
    expect(await confirmed[0]).toMatchObject({ status: 200 });
    expect(await headless.belay('whoami')).toMatchObject({ stdout: expect.stringContaining('rita@example.com') });
  });

  it('waits till the access is active, understands a sentence, and shows the log of it', async () => {
    const sentence = 'read the reporting tables for 10 minutes, month end';
    expect(await rita.belay('request', sentence)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
    const asking = rita.belay('request', sentence, '--yes', '--json');
    const waiting = await vi.waitFor(
      async () => {
        const { approvals } = JSON.parse((await adam.belay('inbox', '--json')).stdout) as { approvals: Waiting[] };
        const [found] = approvals;
        if (!found) throw new Error('the inbox is empty');
        return found;
      },
      { timeout: 15_000, interval: 200 },
    );
    await adam.belay('approve', waiting.execution_id, '--yes');
    const { code, stdout } = await asking;
    expect(code).toBe(0);
    const last = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as object;
    expect(last).toMatchObject({ execution_id: waiting.execution_id, active: true, grants: [{ state: 'active' }] });
    const logs = await rita.belay('logs', '--execution', waiting.execution_id, '--json');
    const types = logs.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(types).toEqual(expect.arrayContaining(['approval.decided', 'entitlement.granted']));
    expect(await rita.belay('access', 'return', waiting.execution_id)).toMatchObject({ code: 0 });
  });

  it('passes its own doctor checks', async () => {
    const { code, stdout } = await installation.operate('doctor', '--json');
    const { checks } = JSON.parse(stdout) as { checks: { check: string; status: string; message: string }[] };
    const failures = checks.filter(({ status }) => status === 'failed');
    expect([code, failures]).toEqual([0, []]);
    expect(checks.find(({ check }) => check === 'database')).toMatchObject({ status: 'ok' });
  });

  it('signs out at the server and deletes the stored token', async () => {
    expect(await bea.belay('logout')).toMatchObject({ code: 0 });
    expect(await bea.belay('whoami')).toMatchObject({ code: 3 });
  });
});
