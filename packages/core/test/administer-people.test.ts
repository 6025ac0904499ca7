import {
  type ActorContext,
  createLogin,
  createToken,
  endOtherLogin,
  enrollAgent,
  getPerson,
  listAgents,
  listPeople,
  removeAgent,
  stopUser,
  verifyAgent,
  verifyLogin,
} from '@belay/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OverseenCast, openOverseenCast } from './support/overseers.js';
import { ask, catalogWith } from './support/stories.js';

let cast: OverseenCast;
let olga: ActorContext;
let otto: ActorContext;
beforeEach(async () => {
  cast = await openOverseenCast(catalogWith({}));
  ({ olga, otto } = cast);
});
afterEach(() => cast[Symbol.asyncDispose]());
const forbidden = { code: 'forbidden' };

describe('people', () => {
  it('are listed, searched and paged for overseers; a plain person learns nothing, not even who exists', async () => {
    const { ada } = cast;
    const { people } = await listPeople(otto, {});
    expect(people.map(({ email }) => email)).toEqual(
      ['ada', 'alan', 'grace', 'mallory', 'olga', 'otto'].map((name) => `${name}@example.com`),
    );
    const first = await listPeople(otto, { limit: 2 });
    const rest = await listPeople(otto, { cursor: first.next ?? '' });
    expect([...first.people, ...rest.people]).toEqual(people);
    expect((await listPeople(otto, { q: 'AL' })).people.map(({ name }) => name)).toEqual(['alan', 'mallory']);
    expect((await listPeople(otto, { q: '%' })).people).toEqual([]);
    await expect(listPeople(otto, { cursor: 'x' })).rejects.toMatchObject({ code: 'invalid' });
    const attempts = await Promise.allSettled([
      listPeople(ada, {}),
      getPerson(ada, { user: 'grace@example.com' }),
      getPerson(ada, { user: 'no-one@example.com' }),
    ]);
    expect(attempts).toEqual(attempts.map(() => ({ status: 'rejected', reason: expect.objectContaining(forbidden) })));
    expect(new Set(attempts.map((one) => one.status === 'rejected' && String(one.reason))).size).toBe(1);
  });

  it('are shown with logins, tokens, access and open requests, and without a secret', async () => {
    const { house, ada } = cast;
    const held = await ask(house, ada, { workflow: 'automatic' });
    const { token } = await createToken(house.operator(), { user: 'ada@example.com', ttl: 'PT1H', label: 'nightly' });
    const login = await createLogin(house.ctx, { user: ada.actor, kind: 'browser' });
    const found = await getPerson(otto, { user: 'Ada@Example.com' });
    expect(found).toMatchObject({
      person: { email: 'ada@example.com' },
      access: [{ execution_id: held, role: 'reader' }],
      requests: [{ id: held }],
    });
    expect(found.logins.map(({ kind, label }) => [kind, label])).toEqual(
      expect.arrayContaining([
        ['token', 'nightly'],
        ['browser', null],
      ]),
    );
    expect(JSON.stringify(found)).not.toContain(token);
    expect(JSON.stringify(found)).not.toContain(login.token);
    expect(JSON.stringify(found)).not.toMatch(/hash|sealed|secret/i);
  });

  it('lose one login or token, or everything, by an administrator with a reason, and by no auditor', async () => {
    const { house, ada, grace } = cast;
    const { token } = await createToken(house.operator(), { user: 'ada@example.com', ttl: 'PT1H' });
    const login = await createLogin(house.ctx, { user: ada.actor, kind: 'device' });
    const given = { id: login.loginId, reason: 'laptop stolen' };
    for (const person of [otto, grace]) {
      await expect(endOtherLogin(person, given)).rejects.toMatchObject(forbidden);
      await expect(stopUser(person, { user: 'ada@example.com', reason: 'x' })).rejects.toMatchObject(forbidden);
    }
    expect(await endOtherLogin(olga, given)).toMatchObject({ message: 'The login of ada@example.com is ended' });
    expect(await verifyLogin(house.ctx, { token: login.token })).toBeNull();
    expect(await verifyLogin(house.ctx, { token })).not.toBeNull();
    await expect(endOtherLogin(olga, given)).rejects.toMatchObject({ code: 'not_found' });
    expect((await stopUser(olga, { user: 'ada@example.com', reason: 'left' })).tokens).toBeGreaterThan(0);
    expect(await verifyLogin(house.ctx, { token })).toBeNull();
    const rows = await house.database.sql`
      select type, actor ->> 'email' as by from ledger where type in ('login.ended', 'user.stopped') and message like '%olga%'`;
    expect(rows.map(({ type, by }) => [type, by])).toEqual(
      expect.arrayContaining([
        ['login.ended', 'olga@example.com'],
        ['user.stopped', 'olga@example.com'],
      ]),
    );
  });

  it('who are stopped are no administrators any more, with the login that they had', async () => {
    const { house } = cast;
    const olgas = await createLogin(house.ctx, {
      user: (await house.person('olga', ['platform'])).actor,
      kind: 'browser',
    });
    await stopUser(house.operator(), { user: 'olga@example.com', reason: 'left' });
    expect(await verifyLogin(house.ctx, { token: olgas.token })).toBeNull();
  });
});

describe('agents', () => {
  it('are listed with when they were last seen, and removed by an administrator: their credential ends', async () => {
    const { house, ada } = cast;
    const { credential, agent } = await enrollAgent(house.operator(), { name: 'build-3', ttl: 'P1D' });
    await enrollAgent(house.operator(), { name: 'build-1', ttl: 'P1D' });
    expect(await verifyAgent(house.ctx, { token: credential })).not.toBeNull();
    const { agents } = await listAgents(otto, {});
    expect(agents.map(({ name, seen_at: seen }) => [name, seen === null])).toEqual([
      ['build-1', true],
      ['build-3', false],
    ]);
    expect(JSON.stringify(agents)).not.toContain(credential);
    const page = await listAgents(otto, { limit: 1 });
    expect((await listAgents(otto, { cursor: page.next ?? '' })).agents).toEqual([agents[1]]);
    await expect(listAgents(ada, {})).rejects.toMatchObject(forbidden);
    const given = { id: agent.id, reason: 'the machine is gone' };
    await expect(removeAgent(otto, given)).rejects.toMatchObject(forbidden);
    await removeAgent(olga, given);
    expect(await verifyAgent(house.ctx, { token: credential })).toBeNull();
    await expect(removeAgent(olga, given)).rejects.toMatchObject({ code: 'not_found' });
  });
});
