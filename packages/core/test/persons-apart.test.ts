import { separatePeople } from '@belay/core';
import { describe, expect, it } from 'vitest';
import { type Doors, openDoors } from './support/doors.js';
import { approve, ask, staged } from './support/stories.js';

const all = { groups: 'all' };
const both = { corp: all, github: all };
const rita = { subject: 'rita', email: 'rita@example.com', groups: ['engineers'] };
const adam = { subject: 'adam', email: 'adam@example.com', groups: ['approvers'] };
const other = { subject: '583231', email: 'private@home.example', groups: ['approvers'] };
const operators = [{ provider: 'memory', to: 'ops@example.com' }];
const told = { ...staged({ count: 1 }), messages: { channels: ['memory'], kinds: ['people.joined'], operators } };

/** Opens a house where another account had the requester's address, and returns the request that it may not decide. */
async function join(doors: Doors) {
  const { house, signIn, corp, github } = doors;
  await signIn(github, { ...other, email: 'rita@example.com' });
  await signIn(corp, rita);
  const boss = await signIn(github, other);
  const me = await signIn(corp, rita);
  return { me, boss, id: await ask(house, me) };
}
const separate = (doors: Doors, user: string, second: string) =>
  separatePeople(doors.house.operator(), { user, other: second, reason: 'they shared a mailbox' });

describe('a join that takes a right to decide away', () => {
  it('is told to operators once, with both accounts, and recorded', async () => {
    await using doors = await openDoors(both, told);
    const { me, boss, id } = await join(doors);
    for (let time = 0; time < 2; time += 1) {
      await expect(approve(boss, id)).rejects.toMatchObject({ code: 'forbidden' });
    }
    await doors.house.work();
    const messages = doors.house.provider.messages;
    expect(messages).toMatchObject([{ to: 'ops@example.com', kind: 'people.joined' }]);
    for (const { actor } of [me, boss]) expect(messages[0]?.title).toContain(actor.id);
    expect(messages[0]?.text).toContain('belay user separate');
    const entries = await doors.house.database.sql`select data from ledger where type = 'people.joined'`;
    expect(entries[0]?.data.users.sort()).toEqual([me.actor.id, boss.actor.id].sort());
  });

  it('is told as well when it takes a second vote', async () => {
    await using doors = await openDoors(both, { ...staged({ count: 2 }), messages: told.messages });
    const { house, signIn, corp, github } = doors;
    const id = await ask(house, await signIn(corp, rita));
    await signIn(github, { ...other, email: 'adam@example.com' });
    await approve(await signIn(corp, adam), id);
    await expect(approve(await signIn(github, other), id)).rejects.toMatchObject({ code: 'conflict' });
    expect(await house.database.sql`select from ledger where type = 'people.joined'`).toHaveLength(1);
  });

  it('is not told where no join is needed to know the person', async () => {
    await using doors = await openDoors(both, told);
    const { house, signIn, corp } = doors;
    const me = await signIn(corp, { ...rita, groups: ['engineers', 'approvers'] });
    await expect(approve(me, await ask(house, me))).rejects.toMatchObject({ code: 'forbidden' });
    expect(await house.database.sql`select from ledger where type = 'people.joined'`).toHaveLength(0);
  });
});

describe('two users that an operator has separated', () => {
  it('decide for each other, also on a request that waits', async () => {
    await using doors = await openDoors(both, told);
    const { me, boss, id } = await join(doors);
    await expect(approve(boss, id)).rejects.toMatchObject({ code: 'forbidden' });
    const done = await separate(doors, me.actor.id, 'private@home.example');
    expect(done.message).toContain('count as two people');
    expect(await approve(boss, id)).toMatchObject({ status: 'approved' });
    const entries = await doors.house.database.sql`select actor from ledger where type = 'people.separated'`;
    expect(entries).toHaveLength(2);
  });

  it('stay two when both sign in again, and are one again when a newer address joins them', async () => {
    await using doors = await openDoors(both, told);
    const { house, signIn, corp, github } = doors;
    const { me, boss } = await join(doors);
    await separate(doors, me.actor.id, boss.actor.id);
    await house.database.advance(60_000);
    const again = await signIn(github, other);
    const id = await ask(house, await signIn(corp, rita));
    expect(await approve(again, id)).toMatchObject({ status: 'approved' });
    await signIn(github, { ...other, email: 'rita@example.com' });
    const second = await ask(house, await signIn(corp, rita));
    await expect(approve(await signIn(github, other), second)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('are separated only by a third person, and not if they have one subject of an issuer', async () => {
    const administrator = { access: { administrators: { groups: ['approvers'] } } };
    await using doors = await openDoors({ ...both, partner: all }, { ...told, ...administrator });
    const { signIn, partner, corp } = doors;
    const { me, boss } = await join(doors);
    const input = { user: me.actor.id, other: boss.actor.id, reason: 'we are two' };
    await expect(separatePeople(boss, input)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(separatePeople(me, input)).rejects.toMatchObject({ code: 'forbidden' });
    const twin = await signIn(partner, { ...other, subject: 'rita' });
    await expect(separate(doors, me.actor.id, twin.actor.id)).rejects.toMatchObject({ code: 'conflict' });
    await expect(separate(doors, me.actor.id, me.actor.id)).rejects.toMatchObject({ code: 'conflict' });
    await expect(separate(doors, me.actor.id, 'nobody@example.com')).rejects.toMatchObject({ code: 'not_found' });
    const third = await signIn(corp, adam);
    await expect(separatePeople(third, input)).resolves.toMatchObject({ message: /two people/ });
  });
});
