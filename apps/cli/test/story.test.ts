import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Installation, type Person, startInstallation } from './support/installation.js';

let installation: Installation;
let rita: Person;
let adam: Person;
let bea: Person;

beforeAll(async () => {
  installation = await startInstallation();
  [rita, adam, bea] = [installation.person('rita'), installation.person('adam'), installation.person('bea')];
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
  const { code, stdout, stderr } = await rita.belay('request', ...wanted, '--duration', duration, '--json');
  expect([code, stderr]).toEqual([0, '']);
  return (JSON.parse(stdout) as { output: { execution_id: string } }).output.execution_id;
}

/** An approval is opened by a worker, a moment after the request was answered. */
async function waitForInbox(execution: string): Promise<{ request_digest: string; grants: unknown[] }> {
  return expect
    .poll(
      async () => {
        const { stdout } = await adam.belay('inbox', '--json');
        const { approvals } = JSON.parse(stdout) as {
          approvals: { execution_id: string; request_digest: string; grants: unknown[] }[];
        };
        return approvals.find(({ execution_id }) => execution_id === execution);
      },
      { timeout: 10_000 },
    )
    .toBeDefined()
    .then(async () => {
      const { stdout } = await adam.belay('inbox', '--json');
      const { approvals } = JSON.parse(stdout) as {
        approvals: { execution_id: string; request_digest: string; grants: unknown[] }[];
      };
      const found = approvals.find(({ execution_id }) => execution_id === execution);
      if (!found) throw new Error('the request left the inbox');
      return found;
    });
}

describe('the story on the command line, against the real server', () => {
  it('knows who is signed in, and what they may ask for', async () => {
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

  it('grants what was approved, takes it away when its time is over, and shows each step', async () => {
    const id = await ask('PT3S');
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

  it('cancels a request once, and not somebody else’s', async () => {
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
      .poll(async () => (await rita.belay('access')).stdout, { timeout: 10_000 })
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
    const made = await adam.belay(
      'token',
      'create',
      '--user',
      'bot@example.com',
      '--ttl',
      'PT1H',
      '--group',
      'engineers',
    );
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\S{20,}\n$/) });
    const bot = installation.person('bot', { BELAY_TOKEN: made.stdout.trim() });
    const { code, stdout } = await bot.belay('whoami', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ email: 'bot@example.com', groups: ['engineers'] });
    expect(stdout).not.toContain(made.stdout.trim());
    expect(await adam.belay('token', 'create', '--user', 'bot@example.com', '--ttl', 'soon')).toMatchObject({
      code: 2,
      stdout: '',
    });
  });

  it('validates a configuration without a server', async () => {
    const folder = path.join(installation.folder, 'checked');
    await mkdir(folder);
    await writeFile(
      path.join(folder, 'belay.yaml'),
      'roles:\n  broken:\n    providers: [nowhere]\n    workflows: [none]\n',
    );
    expect(await rita.belay('validate', path.join(folder, 'belay.yaml'))).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('broken'),
    });
    await writeFile(path.join(folder, 'belay.yaml'), 'version: 1\n');
    expect(await rita.belay('validate', path.join(folder, 'belay.yaml'), '--json')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"ok":true'),
    });
    expect(await rita.belay('validate')).toMatchObject({ code: 2 });
  });

  it('forgets a login at both ends', async () => {
    expect(await bea.belay('logout')).toMatchObject({ code: 0 });
    expect(await bea.belay('whoami')).toMatchObject({ code: 3 });
  });
});
