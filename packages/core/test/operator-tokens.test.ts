import { createToken, listExecutions, verifyLogin, withActor } from '@belay/core';
import { describe, expect, it } from 'vitest';
import { type Doors, openDoors } from './support/doors.js';
import { ask, together } from './support/stories.js';

const rita = { subject: 'rita', email: 'Rita@example.com', groups: ['engineers'] };
const attacker = { subject: '583231', email: 'rita@example.com', groups: ['engineers'] };
const sole = { corp: {} };
const trusting = { corp: { groups: 'all', trusted_email_domains: ['Example.com'] }, github: { groups: 'all' } };

const make = ({ house }: Doors, user: string, more: { groups?: string[] } = {}) =>
  createToken(house.operator(), { user, ttl: 'PT1H', ...more });

async function bear({ house }: Doors, { token }: { token: string }) {
  const verified = await verifyLogin(house.ctx, { token });
  if (!verified) throw new Error('the token is not taken');
  return withActor(house.ctx, verified.actor);
}

const executionsOf = async (me: Parameters<typeof listExecutions>[0]) =>
  (await listExecutions(me, {})).executions.map(({ run_id }) => run_id);

describe.each([
  ['the only provider to sign in with', sole],
  ['a provider that is trusted for the domain', trusting],
])('a token for an address, and the sign-in with it at %s', (_what, settings) => {
  it('are one person when the token is made first', async () => {
    await using doors = await openDoors(settings);
    const { house, signIn, corp } = doors;
    const robot = await bear(doors, await make(doors, 'rita@example.com', { groups: ['engineers'] }));
    const first = await ask(house, robot);
    const me = await signIn(corp, rita);
    expect(me.actor).toMatchObject({ id: robot.actor.id, provider: 'corp', email: 'Rita@example.com' });
    expect(await executionsOf(me)).toEqual([first]);
    const second = await ask(house, me);
    expect(await executionsOf(robot)).toEqual(expect.arrayContaining([first, second]));
    const { sql } = house.database;
    expect([...(await sql`select user_id, level, message, data from ledger where type = 'identity.linked'`)]).toEqual([
      {
        user_id: me.actor.id,
        level: 'warning',
        message:
          'Rita@example.com at "corp" is linked to rita@example.com (an operator created a token for this address)',
        data: { because: 'an operator created a token for this address' },
      },
    ]);
    // After her sign-in, her identity and her groups come from the provider.
    expect([...(await sql`select provider, subject, email from users`)]).toEqual([
      { provider: 'corp', subject: 'rita', email: 'Rita@example.com' },
    ]);
    await expect(make(doors, 'rita@example.com', { groups: ['approvers'] })).rejects.toMatchObject({
      code: 'invalid',
      issues: [{ path: 'groups', message: 'come from "corp" for Rita@example.com; leave them out' }],
    });
    await expect(make(doors, 'rita@example.com', { groups: ['engineers', 'approvers'] })).rejects.toMatchObject({
      code: 'invalid',
    });
    // Naming the groups that the provider gives changes nothing, so the same command line works before and after a sign-in.
    for (const options of [undefined, { groups: ['engineers'] }]) {
      const again = await bear(doors, await make(doors, 'rita@example.com', options));
      expect(again.actor).toMatchObject({ id: me.actor.id, provider: 'corp', groups: ['engineers'] });
    }
  });

  it('are one person when the sign-in comes first', async () => {
    await using doors = await openDoors(settings);
    const { house, signIn, corp } = doors;
    const me = await signIn(corp, rita);
    const id = await ask(house, me);
    await expect(make(doors, 'RITA@example.com', { groups: ['approvers'] })).rejects.toMatchObject({ code: 'invalid' });
    const robot = await bear(doors, await make(doors, 'RITA@example.com'));
    expect(robot.actor).toMatchObject({ id: me.actor.id, groups: ['engineers'] });
    expect(await executionsOf(robot)).toEqual([id]);
  });

  it('are one person when both come at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      await using doors = await openDoors(settings);
      const { signIn, corp, house } = doors;
      expect(
        await together([make(doors, 'rita@example.com'), signIn(corp, rita), make(doors, 'Rita@example.com')]),
      ).toEqual(['ok', 'ok', 'ok']);
      expect(await house.database.sql`select id from users`).toHaveLength(1);
    }
  });

  it('stay one person when the address changes at the provider', async () => {
    await using doors = await openDoors(settings);
    const { signIn, corp } = doors;
    const robot = await bear(doors, await make(doors, 'rita@example.com'));
    await signIn(corp, rita);
    const me = await signIn(corp, { ...rita, email: 'rita.new@example.com' });
    expect(me.actor.id).toBe(robot.actor.id);
    await expect(make(doors, 'rita@example.com', { groups: ['approvers'] })).rejects.toMatchObject({ code: 'invalid' });
  });
});

describe('a token for an address', () => {
  it('is not for an account elsewhere that has the address without being trusted for it, in either order', async () => {
    await using doors = await openDoors(trusting);
    const { house, signIn, corp, github } = doors;
    const before = await signIn(github, attacker);
    const robot = await bear(doors, await make(doors, 'rita@example.com', { groups: ['engineers'] }));
    expect(robot.actor.id).not.toBe(before.actor.id);
    const id = await ask(house, robot);
    expect(await executionsOf(await signIn(github, attacker))).toEqual([]);
    const after = await signIn(github, { ...attacker, subject: '2' });
    expect(after.actor.id).not.toBe(robot.actor.id);
    expect(await executionsOf(after)).toEqual([]);
    // The owner of the address still receives the user of the token.
    const me = await signIn(corp, rita);
    expect(me.actor.id).toBe(robot.actor.id);
    expect(await executionsOf(me)).toEqual([id]);
  });

  it.each([
    ['that is not verified', { emailVerified: false }],
    ['that can be confused with another', { email: 'rıta@example.com' }],
  ])('is not for an account with an address %s', async (_what, more) => {
    await using doors = await openDoors(sole);
    const { signIn, corp, house } = doors;
    await make(doors, 'rita@example.com');
    await expect(signIn(corp, { ...rita, ...more })).rejects.toMatchObject({ code: 'forbidden' });
    expect(await house.database.sql`select id from users`).toHaveLength(1);
  });

  it('is for one account: the next with the address, at the same provider, is another person', async () => {
    await using doors = await openDoors(sole);
    const { signIn, corp } = doors;
    const robot = await bear(doors, await make(doors, 'rita@example.com'));
    expect((await signIn(corp, rita)).actor.id).toBe(robot.actor.id);
    expect((await signIn(corp, { ...rita, subject: 'successor' })).actor.id).not.toBe(robot.actor.id);
  });

  it('keeps the groups that the operator gave it until it ends', async () => {
    await using doors = await openDoors(sole);
    const made = await make(doors, 'rita@example.com', { groups: ['approvers'] });
    const me = await doors.signIn(doors.corp, rita);
    expect(me.actor.groups).toEqual(['engineers']);
    expect((await bear(doors, made)).actor.groups).toEqual(['approvers']);
  });

  it.each([
    'İvan@example.com',
    'straße@example.com',
    'rita',
    '"rita"@example.com',
    'rita@example.com,adam@example.com',
  ])('is rejected for %s, which cannot be compared', async (user) => {
    await using doors = await openDoors(sole);
    await expect(make(doors, user)).rejects.toMatchObject({
      code: 'invalid',
      issues: [
        {
          path: 'user',
          message: expect.stringContaining('is not an e-mail address in canonical form'),
        },
      ],
    });
  });
});
