import { createClient } from '@belay/sdk';
import { standBetween } from '@belay/testkit/middle';
import { createWorld, type Person, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTerminal } from './support/run.js';

let world: World;
beforeAll(async () => {
  world = await createWorld({
    change: (document) => ({
      ...document,
      messages: { channels: ['store'] },
      access: { auditors: { users: ['bo@example.test'] } },
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

async function run(person: Person, ...args: string[]) {
  await using terminal = await openTerminal({ server: world.url, token: await world.token(person, 'device') });
  return terminal.run(args);
}

describe('belay reviews', () => {
  it('lists the reviews of emergencies, and closes one by the beginning of its id', async () => {
    const rita = createClient({ url: world.url, token: await world.token('requester', 'device') });
    const { output } = await rita.elevation.request({ role: 'reader', reason: 'an incident', duration: 'PT1M' });
    await world.drive();
    const shown = [await run('approver', 'inbox'), await run('approver', 'approve', output.execution_id, '--yes')];
    await world.drive();
    shown.push(await run('requester', 'access'), await run('bystander', 'admin', 'access'));
    const texts = shown.map(({ stdout, stderr }) => stdout + stderr);
    expect(texts).toEqual(texts.map(() => expect.stringContaining('reader (emergency)')));
    const { reviews } = JSON.parse((await run('approver', 'reviews', '--json')).stdout) as {
      reviews: { id: string }[];
    };
    const [{ id } = { id: '' }] = reviews;
    const close = ['close', id.slice(0, 13), '--verdict', 'not_justified', '--note', 'no incident then'];
    expect(await run('approver', 'reviews', ...close)).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('close its review when it has ended'),
    });
    await world.database.advance(10 * 60_000);
    await world.drive();
    expect((await run('requester', 'reviews')).stdout).toBe('');
    expect((await run('requester', 'reviews', ...close)).stderr).toContain('see: belay reviews');
    expect((await run('requester', 'reviews', 'close', id, ...close.slice(2))).code).toBe(4);
    expect((await run('approver', 'reviews', 'close', id, '--verdict', 'fine', '--note', 'x')).code).toBe(2);
    expect((await run('approver', 'reviews', 'close', id, '--verdict', 'justified')).code).toBe(2);
    expect(await run('approver', 'reviews', ...close)).toMatchObject({
      code: 0,
      stdout: 'The use of reader by rita@example.test: not justified\n',
    });
    expect((await run('approver', 'reviews')).stdout).toBe('');
    const closed = await run('approver', 'reviews', '--execution', output.execution_id);
    expect(closed.stdout).toContain('not justified');
    expect(closed.stdout).toContain('no incident then');
  });

  it('finds the review to close on a later page of the list', async () => {
    const rita = createClient({ url: world.url, token: await world.token('requester', 'device') });
    const { output } = await rita.elevation.request({ role: 'reader', reason: 'another incident', duration: 'PT1M' });
    await world.drive();
    await run('approver', 'approve', output.execution_id, '--yes');
    await world.drive();
    await world.database.advance(10 * 60_000);
    await world.drive();
    const [{ id } = { id: '' }] = (
      JSON.parse((await run('approver', 'reviews', '--json')).stdout) as { reviews: { id: string }[] }
    ).reviews;
    await using middle = await standBetween(world.url);
    let pages = 0;
    middle.mangle = (procedure, data) => {
      if (procedure !== 'reviews.list' || ++pages > 1) return undefined;
      return { ...data, reviews: [], next: '0.00000000-0000-4000-8000-000000000000' };
    };
    await using terminal = await openTerminal({ server: middle.url, token: await world.token('approver', 'device') });
    const close = ['close', id.slice(0, 13), '--verdict', 'justified', '--note', 'an incident'];
    expect(await terminal.run(['reviews', ...close])).toMatchObject({ code: 0 });
    expect(pages).toBe(2);
  });
});
