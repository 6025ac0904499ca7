import { createClient } from '@belay/sdk';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTerminal } from './support/run.js';

let world: World;
beforeAll(async () => {
  world = await createWorld({
    change: (document) => ({
      ...document,
      messages: { channels: ['store'] },
      roles: {
        ...document.roles,
        reader: {
          ...document.roles.reader,
          break_glass: { tell: { groups: ['watch'] }, review: { by: { groups: ['approvers'] } } },
        },
      },
    }),
  });
  await world.database.setTime(new Date());
});
afterAll(() => world[Symbol.asyncDispose]());

async function run(person: 'approver' | 'requester', ...args: string[]) {
  await using terminal = await openTerminal({ server: world.url, token: await world.token(person, 'device') });
  return terminal.run(['reviews', ...args]);
}

describe('belay reviews', () => {
  it('lists the reviews of emergencies, and closes one by the beginning of its id', async () => {
    const rita = createClient({ url: world.url, token: await world.token('requester', 'device') });
    const adam = createClient({ url: world.url, token: await world.token('approver', 'device') });
    const { output } = await rita.elevation.request({ role: 'reader', reason: 'an incident', duration: 'PT1M' });
    await world.drive();
    await adam.approvals.decide({ id: output.execution_id, verdict: 'approve' });
    await world.drive();
    const { reviews } = JSON.parse((await run('approver', '--json')).stdout) as { reviews: { id: string }[] };
    const [{ id } = { id: '' }] = reviews;
    const close = ['close', id.slice(0, 13), '--verdict', 'not_justified', '--note', 'no incident then'];
    expect(await run('approver', ...close)).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('close its review when it has ended'),
    });
    await world.database.advance(10 * 60_000);
    await world.drive();
    expect((await run('requester')).stdout).toBe('');
    expect((await run('requester', ...close)).stderr).toContain('see: belay reviews');
    expect((await run('requester', 'close', id, ...close.slice(2))).code).toBe(4);
    expect((await run('approver', 'close', id, '--verdict', 'fine', '--note', 'x')).code).toBe(2);
    expect((await run('approver', 'close', id, '--verdict', 'justified')).code).toBe(2);
    expect(await run('approver', ...close)).toMatchObject({
      code: 0,
      stdout: 'The use of reader by rita@example.test: not justified\n',
    });
    expect((await run('approver')).stdout).toBe('');
    const closed = await run('approver', '--execution', output.execution_id);
    expect(closed.stdout).toContain('not justified');
    expect(closed.stdout).toContain('no incident then');
  });
});
