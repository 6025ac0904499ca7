import { getPerson, listInbox, stopUser, verifyLogin } from '@belay/core';
import { describe, expect, it } from 'vitest';
import { openDoors } from './support/doors.js';
import { approve, ask, day, deny, staged, statusOf } from './support/stories.js';

const all = { groups: 'all' };
const both = { corp: all, github: all };
const rita = { subject: 'rita', email: 'rita@example.com', groups: ['engineers'] };
const adam = { subject: 'adam', email: 'adam@example.com', groups: ['approvers'] };
const alan = { subject: 'alan', email: 'alan@example.com', groups: ['approvers'] };
const private_ = { subject: '583231', email: 'private@home.example', groups: ['approvers'] };
const known = (person: { email: string }) => ({ ...private_, email: person.email });

describe('two accounts that shared an address stay one person after one of them changes it', () => {
  it('for their own request', async () => {
    await using doors = await openDoors(both);
    const { house, signIn, corp, github } = doors;
    const me = await signIn(corp, rita);
    const id = await ask(house, me);
    await expect(approve(await signIn(github, known(rita)), id)).rejects.toMatchObject({ code: 'forbidden' });
    const again = await signIn(github, private_);
    expect((await listInbox(again)).approvals).toEqual([]);
    for (const decide of [approve, deny]) await expect(decide(again, id)).rejects.toMatchObject({ code: 'forbidden' });
    await house.work();
    expect(await statusOf(me, id)).toBe('waiting');
    expect(await approve(await signIn(corp, adam), id)).toMatchObject({ status: 'approved' });
  });

  it('for a request that was made after the change', async () => {
    await using doors = await openDoors(both);
    const { house, signIn, corp, github } = doors;
    await signIn(github, known(rita));
    const me = await signIn(corp, rita);
    const again = await signIn(github, private_);
    const id = await ask(house, me);
    await expect(approve(again, id)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('when the requester changes the address and not the approver', async () => {
    await using doors = await openDoors(both);
    const { house, signIn, corp, github } = doors;
    const boss = await signIn(corp, { ...adam, email: 'rita@example.com' });
    await signIn(github, { ...private_, email: 'rita@example.com', groups: ['engineers'] });
    const me = await signIn(github, { ...alan, subject: private_.subject, groups: ['engineers'] });
    await expect(approve(boss, await ask(house, me))).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('when one account gives the address up before the other takes it', async () => {
    await using doors = await openDoors(both);
    const { house, signIn, corp, github } = doors;
    await signIn(github, known(rita));
    const again = await signIn(github, private_);
    await house.database.advance(89 * day);
    const me = await signIn(corp, rita);
    const id = await ask(house, me);
    await expect(approve(await signIn(github, private_), id)).rejects.toMatchObject({ code: 'forbidden' });
    expect(again.actor.id).not.toBe(me.actor.id);
  });

  it('but an address that was free for more than 90 days joins no one', async () => {
    await using doors = await openDoors(both);
    const { house, signIn, corp, github } = doors;
    await signIn(github, known(rita));
    await signIn(github, private_);
    await house.database.advance(91 * day);
    const id = await ask(house, await signIn(corp, rita));
    expect(await approve(await signIn(github, private_), id)).toMatchObject({ status: 'approved' });
  });

  it.each(['approve', 'deny'] as const)('for the second of two decisions: %s', async (verdict) => {
    await using doors = await openDoors(both, staged({ count: 2, refusals: 2 }));
    const { house, signIn, corp, github } = doors;
    const say = verdict === 'approve' ? approve : deny;
    const id = await ask(house, await signIn(corp, rita));
    await signIn(github, known(adam));
    expect(await say(await signIn(corp, adam), id)).toMatchObject({ status: 'open' });
    await expect(say(await signIn(github, private_), id)).rejects.toMatchObject({ code: 'conflict' });
    expect(await say(await signIn(corp, alan), id)).toMatchObject({
      status: verdict === 'approve' ? 'approved' : 'denied',
    });
  });

  it('when both have decided before anything connected them', async () => {
    await using doors = await openDoors(both, staged({ count: 3 }));
    const { house, signIn, corp, github } = doors;
    const id = await ask(house, await signIn(corp, rita));
    await approve(await signIn(corp, adam), id);
    await approve(await signIn(github, private_), id);
    await signIn(github, known(adam));
    await signIn(github, private_);
    expect(await approve(await signIn(corp, alan), id)).toMatchObject({ status: 'open' });
  });

  it('for access that a colleague requested for them', async () => {
    const catalog = staged({}, { permissions: { groups: ['engineers'], delegates: { users: ['rita@example.com'] } } });
    await using doors = await openDoors(both, catalog);
    const { house, signIn, corp, github } = doors;
    await signIn(github, known(adam));
    const id = await ask(house, await signIn(corp, rita), { identities: ['adam@example.com'] });
    const again = await signIn(github, private_);
    expect((await listInbox(again)).approvals).toEqual([]);
    await expect(approve(again, id)).rejects.toMatchObject({ code: 'forbidden' });
    // Also when only the account at the company would connect the two.
    await signIn(corp, adam);
    await expect(approve(again, id)).rejects.toMatchObject({ code: 'forbidden' });
  });
});

describe('people who had one address in turn', () => {
  it('are not joined with each other by a third who had both addresses', async () => {
    const catalog = staged(
      { count: 2 },
      { permissions: { groups: ['engineers'], delegates: { groups: ['engineers'] } } },
    );
    await using doors = await openDoors(both, catalog);
    const { house, signIn, corp, github } = doors;
    const ada = await signIn(corp, adam);
    const al = await signIn(corp, alan);
    const me = await signIn(corp, rita);
    // A third account takes the addresses of both approvers in turn.
    await signIn(github, { ...known(adam), groups: [] });
    await signIn(github, { ...known(alan), groups: [] });
    const id = await ask(house, me);
    await approve(ada, id);
    expect(await approve(al, id)).toMatchObject({ status: 'approved' });
    // Each may decide on access of the other.
    const other = await ask(house, me, { identities: ['alan@example.com'] });
    expect(await approve(ada, other)).toMatchObject({ status: 'open' });
  });

  it('with a shared mailbox decide together only where they do not share it', async () => {
    await using doors = await openDoors({ ...both, partner: all }, staged({ count: 2 }));
    const { house, signIn, corp, github } = doors;
    const id = await ask(house, await signIn(corp, rita));
    const [ada, al] = [await signIn(corp, adam), await signIn(corp, alan)];
    await signIn(github, { ...private_, email: 'team@example.com' });
    await approve(ada, id);
    expect(await approve(al, id)).toMatchObject({ status: 'approved' });
  });
});

describe('an operator finds a person by a former address', () => {
  it('to stop them, while no one else has it', async () => {
    await using doors = await openDoors({ corp: all });
    const { house, signIn, corp } = doors;
    await signIn(corp, rita);
    const { token } = await signIn(corp, { ...rita, email: 'married@example.com' });
    const stopped = await stopUser(house.operator(), { user: 'RITA@example.com', reason: 'left' });
    expect(stopped.message).toContain('married@example.com');
    expect(await verifyLogin(house.ctx, { token })).toBeNull();
    expect((await getPerson(house.operator(), { user: 'rita@example.com' })).person.email).toBe('married@example.com');
  });

  it('but stops the person who has it now, if there is one', async () => {
    await using doors = await openDoors({ corp: all });
    const { house, signIn, corp } = doors;
    await signIn(corp, rita);
    const former = await signIn(corp, { ...rita, email: 'married@example.com' });
    const now = await signIn(corp, { ...rita, subject: 'new' });
    await stopUser(house.operator(), { user: 'rita@example.com', reason: 'left' });
    expect(await verifyLogin(house.ctx, { token: now.token })).toBeNull();
    expect(await verifyLogin(house.ctx, { token: former.token })).not.toBeNull();
  });
});
