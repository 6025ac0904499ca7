import { type Middle, standBetween } from '@belay/testkit/middle';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTerminal } from './support/run.js';

let world: World;
let middle: Middle;
beforeAll(async () => {
  world = await createWorld({
    change: (document) => ({ ...document, access: { auditors: { users: ['bo@example.test'] } } }),
  });
  middle = await standBetween(world.url);
});
afterAll(async () => {
  await middle?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  middle.mangle = undefined;
});

async function run(...args: string[]) {
  await using terminal = await openTerminal({ server: middle.url, token: await world.token('bystander', 'device') });
  return terminal.run(args);
}

describe('a list that does not fit on one page', () => {
  const lists = [
    'admin access',
    'admin overdue',
    'admin changes',
    'admin people',
    'admin agents',
    'executions',
    'history',
    'reviews',
  ];
  it.each(lists)('says how `belay %s` continues, on standard error and not to programs', async (list) => {
    expect((await run(...list.split(' '))).stderr).toBe('');
    middle.mangle = (_procedure, data) => ({ ...data, next: 'the-next\u001b[2J' });
    expect((await run(...list.split(' '))).stderr).toBe('more: --cursor the-next\\u{1b}[2J\n');
    expect((await run(...list.split(' '), '--json')).stderr).toBe('');
    middle.mangle = undefined;
    expect(await run(...list.split(' '), '--cursor', 'of another list')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('cursor'),
    });
  });

  it('is continued by its cursor until every item was listed', async () => {
    await world.database.sql`
      insert into users (id, provider, subject, email, name, groups)
      select gen_random_uuid(), 'demo', 'many-' || n, 'many-' || n || '@example.test', 'Many', '[]'
      from generate_series(1, 150) as n`;
    await world.database.sql`
      insert into user_identities (provider, subject, user_id, email, email_folded, name, groups, organizations)
      select provider, subject, id, email, email, name, groups, groups from users where subject like 'many-%'`;
    const first = await run('admin', 'people', 'many-');
    const cursor = /^more: --cursor (\S+)\n$/.exec(first.stderr)?.[1] ?? '';
    const second = await run('admin', 'people', 'many-', '--cursor', cursor);
    expect(second.stderr).toBe('');
    const listed = [first, second].flatMap(({ stdout }) => stdout.match(/many-\d+@/g) ?? []);
    expect([listed.length, new Set(listed).size]).toEqual([150, 150]);
  });

  it('says that a comparison of versions has more changes than it lists', async () => {
    expect((await run('admin', 'changes', '1.0.1')).stderr).toBe('');
    middle.mangle = (_procedure, data) => ({ ...data, changes: [], truncated: true });
    expect((await run('admin', 'changes', '1.0.1')).stderr).toBe('Only the first 0 changes are shown.\n');
  });
});
