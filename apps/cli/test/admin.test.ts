import { createClient } from '@belay/sdk';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTerminal } from './support/run.js';

let world: World;
beforeAll(async () => {
  world = await createWorld({
    change: (document) => ({
      ...document,
      access: { administrators: { groups: ['approvers'] }, auditors: { users: ['bo@example.test'] } },
    }),
  });
});
afterAll(() => world[Symbol.asyncDispose]());

async function run(person: 'approver' | 'bystander' | 'requester', ...args: string[]) {
  await using terminal = await openTerminal({ server: world.url, token: await world.token(person, 'device') });
  return terminal.run(['admin', ...args]);
}

describe('belay admin', () => {
  it('reads everything for an auditor, as JSON and as tables, and nothing for others', async () => {
    await world.token('requester');
    const reads = ['access', 'overdue', 'changes', 'people', 'agents', 'export'];
    for (const name of [...reads.map((one) => [one]), ['person', 'rita@example.test'], ['changes', '1.0.1']]) {
      expect([name, (await run('bystander', ...name)).code, (await run('requester', ...name)).code]).toEqual([
        name,
        0,
        4,
      ]);
    }
    const people = await run('bystander', 'people', 'rita', '--json');
    expect(JSON.parse(people.stdout)).toMatchObject({ people: [{ email: 'rita@example.test' }] });
    const lines = (await run('bystander', 'export', '--type', 'login.created', '--json')).stdout.trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toContain('login.created');
  });

  it('writes the audit log as CSV, in which no cell is a formula', async () => {
    const client = createClient({ url: world.url, token: await world.token('requester', 'device') });
    await client.elevation.request({ role: 'reader', reason: '=1+1' });
    const { stdout, code } = await run('bystander', 'export', '--csv', '--type', 'elevation.requested');
    const [head, first] = stdout.split('\n');
    expect(code).toBe(0);
    expect(head).toBe(
      '"timestamp","level","type","actor","user","role","provider","execution_id","message","data","id"',
    );
    expect(first).toMatch(/^"20.*","elevation\.requested","rita@example\.test",.*"[0-9]+"$/);
    expect(stdout).not.toMatch(/"[=+@-]/);
    expect((await run('bystander', 'export', '--csv', '--json')).code).toBe(2);
  });

  it('exports from a day, a time or a duration ago, and writes nothing, not even the names of columns, when that is rejected', async () => {
    const { sql } = world.database;
    const entry = (at: string) =>
      sql`insert into ledger (at, type, level, message, actor) values (${at}, 'dated', 'info', ${at}, '{"system": "test"}')`;
    for (const at of [
      '2026-03-09T23:59:59.999Z',
      '2026-03-10T00:00:00Z',
      '2026-03-11T12:00:30Z',
      '2026-03-12T00:00:00Z',
    ]) {
      await entry(at);
    }
    const exported = async (...args: string[]) => {
      const { stdout } = await run('bystander', 'export', '--type', 'dated', ...args, '--jq', '.message');
      return stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.replaceAll('"', '').slice(5, 10));
    };
    expect(await exported('--since', '2026-03-10', '--until', '2026-03-11')).toEqual(['03-11', '03-10']);
    expect(await exported('--since', '2026-03-11T12:00', '--until', '2026-03-11T12:00')).toEqual(['03-11']);
    expect(await exported('--since', '1d')).toEqual([]);
    for (const wrong of [
      ['--since', 'yesterday'],
      ['--user', 'x'.repeat(201)],
    ]) {
      expect(await run('bystander', 'export', '--csv', ...wrong)).toMatchObject({ code: 2, stdout: '' });
    }
    expect(await run('requester', 'export', '--csv')).toMatchObject({ code: 4, stdout: '' });
    // Nothing matches, so only the header of the columns is printed.
    expect((await run('bystander', 'export', '--csv', '--type', 'none')).stdout).toMatch(/^"timestamp",.*\r?\n$/);
  });

  it('names the requests that can still be granted access, and what a revocation needs', async () => {
    const client = createClient({ url: world.url, token: await world.token('requester', 'device') });
    const { output } = await client.elevation.request({ role: 'reader', reason: 'month end' });
    const { stdout } = await run('approver', 'revoke', '--execution', output.execution_id, '--reason', 'an incident');
    expect(stdout).toContain(`belay executions show ${output.execution_id}`);
    const nothing = await run('approver', 'revoke', '--reason', 'an incident');
    expect(nothing).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--user, --provider, --role or --execution'),
    });
  });

  it('acts for an administrator with a reason, and not for an auditor', async () => {
    const revoke = ['revoke', '--user', 'rita@example.test', '--reason', 'an incident'];
    expect((await run('bystander', ...revoke)).code).toBe(4);
    expect(await run('approver', ...revoke)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('No access is held'),
    });
    expect((await run('approver', 'revoke', '--user', 'rita@example.test')).code).toBe(2);
    const stop = ['stop', 'rita@example.test', '--reason', 'left'];
    expect((await run('bystander', ...stop)).code).toBe(4);
    expect((await run('approver', ...stop)).stdout).toContain('rita@example.test is stopped');
  });
});
