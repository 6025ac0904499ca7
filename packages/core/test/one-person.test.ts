import { createSignal, createToken, listInbox, signalExecution, verifyLogin, withActor } from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { describe, expect, it } from 'vitest';
import { type Doors, openDoors } from './support/doors.js';
import { approve, ask, deny, staged, statusOf, together } from './support/stories.js';

const all = { groups: 'all' };
const rita = { subject: 'rita', email: 'rita@example.com', groups: ['engineers'] };
const adam = { subject: 'adam', email: 'adam@example.com', groups: ['approvers'] };
/** Another account of Rita's, which is in the group of the approvers. */
const other = { subject: '583231', email: 'rita@home.example', groups: ['approvers'] };

/** Returns the caller with a token that an operator created for an address. */
async function withToken({ house }: Doors, user: string) {
  const { token } = await createToken(house.operator(), { user, ttl: 'PT1H', groups: ['approvers'] });
  const verified = await verifyLogin(house.ctx, { token });
  if (!verified) throw new Error('the token is not taken');
  return withActor(house.ctx, verified.actor);
}

describe('a request is not decided by another identity of the person who made it', () => {
  it.each([
    ['with the same address', 'github', { ...other, email: 'rita@example.com' }],
    ['with the same address in other letters', 'github', { ...other, email: 'RITA@Example.COM' }],
    ['with the same subject of the same issuer', 'partner', { ...other, subject: 'rita' }],
  ] as const)('%s', async (_what, at, person) => {
    await using doors = await openDoors({ corp: all, github: all, partner: all });
    const { house, signIn, corp } = doors;
    const me = await signIn(corp, rita);
    const id = await ask(house, me);
    const again = await signIn(doors[at], person);
    expect(again.actor.id).not.toBe(me.actor.id);
    expect(again.actor.groups).toEqual(['approvers']);
    expect((await listInbox(again)).approvals).toEqual([]);
    for (const decide of [approve, deny]) {
      await expect(decide(again, id)).rejects.toMatchObject({ code: 'forbidden' });
    }
    await house.work();
    expect(await statusOf(me, id)).toBe('waiting');
    expect(await approve(await signIn(corp, adam), id)).toMatchObject({ status: 'approved' });
  });

  it('nor the same the other way round, by the identity whose address was the second', async () => {
    await using doors = await openDoors({ corp: all, github: all });
    const { house, signIn, corp, github } = doors;
    const again = await signIn(github, { ...other, email: 'Rita@example.com', groups: ['engineers'] });
    const id = await ask(house, again);
    const boss = await signIn(corp, { ...rita, groups: ['approvers'] });
    await expect(approve(boss, id)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('that was linked after the request', async () => {
    await using doors = await openDoors({ corp: all, github: all });
    const { house, signIn, corp, github } = doors;
    const me = await signIn(corp, rita);
    const id = await ask(house, me);
    const linked = await signIn(github, other, me);
    expect(linked.actor).toMatchObject({ id: me.actor.id, groups: ['approvers'] });
    await expect(approve(linked, id)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('that got the address only after the request, from its provider', async () => {
    await using doors = await openDoors({ corp: all, github: all });
    const { house, signIn, corp, github } = doors;
    const id = await ask(house, await signIn(corp, rita));
    await signIn(github, other);
    const again = await signIn(github, { ...other, email: 'rita@example.com' });
    await expect(approve(again, id)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('that only a third identity connects with it', async () => {
    await using doors = await openDoors({ corp: all, github: all, partner: all });
    const { house, signIn, corp, github, partner } = doors;
    const me = await signIn(corp, rita);
    const id = await ask(house, me);
    // At the partner, Rita's subject has the address of the private account.
    await signIn(partner, { ...other, subject: 'rita' });
    await expect(approve(await signIn(github, other), id)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('that an operator made a token for', async () => {
    // Neither provider is trusted for the domain, so the token belongs to another user.
    await using doors = await openDoors({ corp: all, github: all });
    const { house, signIn, corp } = doors;
    const me = await signIn(corp, rita);
    const id = await ask(house, me);
    const robot = await withToken(doors, 'Rita@example.com');
    expect(robot.actor.id).not.toBe(me.actor.id);
    expect((await listInbox(robot)).approvals).toEqual([]);
    await expect(approve(robot, id)).rejects.toMatchObject({ code: 'forbidden' });
    expect(await approve(await withToken(doors, 'boss@example.com'), id)).toMatchObject({ status: 'approved' });
  });

  it('nor may it send the event that the request waits for', async () => {
    await using doors = await openDoors({ corp: all, github: all });
    const { house, signIn, corp, github } = doors;
    const id = await ask(house, await signIn(corp, rita));
    const again = await signIn(github, { ...other, email: 'rita@example.com' });
    for (const [type, data] of [
      ['com.example.ready', {}],
      ['belay.approval.decided', { approved: true }],
    ] as const) {
      const { input } = await createSignal(again, { id, type, data });
      await expect(signalExecution(again, { id, input })).rejects.toMatchObject({ code: 'forbidden' });
    }
  });

  it('and neither is access for a person decided by another identity of theirs', async () => {
    const catalog = staged({}, { permissions: { groups: ['engineers'], delegates: { users: ['rita@example.com'] } } });
    await using doors = await openDoors({ corp: all, github: all }, catalog);
    const { house, signIn, corp, github } = doors;
    const id = await ask(house, await signIn(corp, rita), { identities: ['adam@example.com'] });
    await signIn(corp, adam);
    const hidden = await signIn(github, { ...other, email: 'ADAM@example.com' });
    expect((await listInbox(hidden)).approvals).toEqual([]);
    await expect(approve(hidden, id)).rejects.toMatchObject({ code: 'forbidden' });
  });
});

describe('two identities of one person', () => {
  it.each([
    ['share an address', 'github', { ...adam, subject: 'a', email: 'Adam@Example.com' }],
    ['share a subject of one issuer', 'partner', { ...adam, email: 'adam@home.example' }],
  ] as const)('that %s are one approver', async (_what, at, person) => {
    await using doors = await openDoors({ corp: all, github: all, partner: all }, staged({ count: 2 }));
    const { house, signIn, corp } = doors;
    const id = await ask(house, await signIn(corp, rita));
    expect(await approve(await signIn(corp, adam), id)).toMatchObject({ status: 'open' });
    const again = await signIn(doors[at], person);
    expect((await listInbox(again)).approvals).toEqual([]);
    await expect(approve(again, id)).rejects.toMatchObject({ code: 'conflict' });
    const alan = await signIn(corp, { subject: 'alan', email: 'alan@example.com', groups: ['approvers'] });
    expect(await approve(alan, id)).toMatchObject({ status: 'approved' });
  });

  it.each(['approve', 'deny'] as const)(
    'count once even when that is found out after both said %s',
    async (verdict) => {
      const say = verdict === 'approve' ? approve : deny;
      const rule = { count: 3, refusals: 3 };
      await using doors = await openDoors({ corp: all, github: all }, staged(rule));
      const { house, signIn, corp, github } = doors;
      const id = await ask(house, await signIn(corp, rita));
      const hidden = { ...adam, subject: 'a', email: 'adam@home.example' };
      await say(await signIn(corp, adam), id);
      expect(await say(await signIn(github, hidden), id)).toMatchObject({ status: 'open' });
      await signIn(github, { ...hidden, email: 'adam@example.com' });
      const third = (name: string) =>
        signIn(corp, { subject: name, email: `${name}@example.com`, groups: ['approvers'] });
      expect(await say(await third('alan'), id)).toMatchObject({ status: 'open' });
      expect(await say(await third('grace'), id)).toMatchObject({
        status: verdict === 'approve' ? 'approved' : 'denied',
      });
    },
  );

  it('are two while nothing says otherwise: the same subject of two issuers is no sign', async () => {
    await using doors = await openDoors({ corp: all, github: all });
    const { house, signIn, corp, github } = doors;
    const id = await ask(house, await signIn(corp, { ...rita, subject: '7' }));
    const stranger = await signIn(github, { subject: '7', email: 'seven@home.example', groups: ['approvers'] });
    expect(await approve(stranger, id)).toMatchObject({ status: 'approved' });
  });
});

it('first sign-ins with one address at providers that are both trusted for it, at one moment, are one person', async () => {
  const trusted = { groups: 'all', trusted_email_domains: ['example.com'] };
  for (let round = 0; round < 5; round += 1) {
    await using doors = await openDoors({ corp: trusted, github: trusted, partner: trusted });
    const { signIn, corp, github, partner, house } = doors;
    const came = [signIn(corp, rita), signIn(github, { ...other, email: 'Rita@example.com' }), signIn(partner, rita)];
    expect(await together(came)).toEqual(['ok', 'ok', 'ok']);
    expect(await house.database.sql`select email from users`).toHaveLength(1);
  }
});

describe('steps that want distinct people', () => {
  const step = (name: string, stage: object) => [
    {
      [name]: {
        call: 'access.approve',
        with: { stages: [{ approvers: { groups: ['approvers'] }, ...stage }] },
        export: { as: '${ . }' },
      },
    },
    { [`${name}Denied`]: { switch: [{ denied: { when: '${ .approved == false }', then: 'end' } }] } },
  ];
  const twoSteps = (first: object, second: object) =>
    approvalCatalog({ tasks: [...step('one', first), ...step('two', second), { grant: { call: 'access.grant' } }] });
  const distinct = { distinct: true };

  it.each([
    ['the second', {}, distinct],
    ['the first', distinct, {}],
  ])('are not approved twice by one person, when %s says it', async (_which, first, second) => {
    await using doors = await openDoors({ corp: all, github: all }, twoSteps(first, second));
    const { house, signIn, corp, github } = doors;
    const me = await signIn(corp, rita);
    const id = await ask(house, me);
    const boss = await signIn(corp, adam);
    await approve(boss, id);
    await house.work();
    await expect(approve(boss, id)).rejects.toMatchObject({ code: 'forbidden', message: /another step/ });
    // Neither with another account of the same person.
    const again = await signIn(github, { ...adam, subject: '7', email: 'Adam@example.com' });
    await expect(approve(again, id)).rejects.toMatchObject({ code: 'forbidden' });
    await house.work();
    expect(await statusOf(me, id)).toBe('waiting');
    expect(await house.database.sql`select 1 from grants`).toEqual([]);
    await approve(await signIn(corp, { ...adam, subject: 'eve', email: 'eve@example.com' }), id);
    await house.work();
    expect(await house.database.sql`select 1 from grants`).toHaveLength(1);
  });

  it('can be denied by a person who has approved another one', async () => {
    await using doors = await openDoors({ corp: all }, twoSteps({}, distinct));
    const { house, signIn, corp } = doors;
    const me = await signIn(corp, rita);
    const id = await ask(house, me);
    const boss = await signIn(corp, adam);
    await approve(boss, id);
    await house.work();
    expect(await deny(boss, id)).toMatchObject({ status: 'denied' });
    await house.work();
    expect(await house.database.sql`select 1 from grants`).toEqual([]);
  });

  it('are approved by one person where none of them says so', async () => {
    await using doors = await openDoors({ corp: all }, twoSteps({}, {}));
    const { house, signIn, corp } = doors;
    const id = await ask(house, await signIn(corp, rita));
    const boss = await signIn(corp, adam);
    await approve(boss, id);
    await house.work();
    expect(await approve(boss, id)).toMatchObject({ status: 'approved' });
  });
});
