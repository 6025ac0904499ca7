import {
  type ActorContext,
  extendElevation,
  listAllAccess,
  listLogs,
  listOverdue,
  retryRevocation,
  revokeAccess,
} from '@belay/core';
import { sweep } from '@belay/testkit/sweep';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gateOf } from './support/gate.js';
import { type OverseenCast, openOverseenCast } from './support/overseers.js';
import { access, approve, ask, catalogWith, minute, request, statusOf } from './support/stories.js';

let cast: OverseenCast;
let olga: ActorContext;
let otto: ActorContext;
beforeEach(async () => {
  cast = await openOverseenCast(catalogWith({}));
  ({ olga, otto } = cast);
});
afterEach(() => cast[Symbol.asyncDispose]());

const hold = (person = cast.ada) => ask(cast.house, person, { workflow: 'automatic' });
const holds = (name: string) => cast.house.provider.holds(`${name}@example.com`, access);
const all = (ctx: ActorContext, filter = {}) => listAllAccess(ctx, filter);

describe('access of all people', () => {
  it('is listed for overseers, filtered and in pages, and for no one else', async () => {
    const { house, ada, alan, grace } = cast;
    const [one, two] = [await hold(ada), await hold(alan)];
    await ask(house, ada);
    const found = await all(otto);
    expect(found.access.map(({ execution_id: id, user, role, provider }) => [id, user.email, role, provider])).toEqual([
      [one, 'ada@example.com', 'reader', 'memory'],
      [two, 'alan@example.com', 'reader', 'memory'],
    ]);
    const first = await all(olga, { limit: 1 });
    const rest = await all(olga, { limit: 1, cursor: first.next ?? '' });
    expect([...first.access, ...rest.access]).toEqual(found.access);
    expect([first.next !== null, rest.next]).toEqual([true, null]);
    const by = async (filter: object) => (await all(olga, filter)).access.map(({ execution_id: id }) => id);
    expect(await by({ user: 'Alan@example.com' })).toEqual([two]);
    expect([await by({ role: 'other' }), await by({ provider: 'other' }), await by({ user: 'x@y.example' })]).toEqual([
      [],
      [],
      [],
    ]);
    await expect(all(olga, { cursor: "1'; drop table grants" })).rejects.toMatchObject({ code: 'invalid' });
    await expect(all(grace)).rejects.toMatchObject({ code: 'forbidden' });
    await house.pass(40 * minute);
    expect((await all(otto)).access).toEqual([]);
  });

  it('is revoked by an administrator with a reason, that of one person and of none beside, and again without harm', async () => {
    const { house, ada, alan } = cast;
    const [one, two] = [await hold(ada), await hold(alan)];
    const waiting = await ask(house, ada);
    const done = await revokeAccess(olga, { user: 'ada@example.com', reason: 'laptop stolen' });
    expect(done).toMatchObject({ revoked: [one], ended: [], open: expect.arrayContaining([waiting]), more: false });
    // Of the two open requests, only the one that waits can still be granted access.
    expect(done.message).toMatch(/; 1 open request\(s\) can still be granted access$/);
    await house.work();
    expect([holds('ada'), holds('alan'), await statusOf(ada, waiting)]).toEqual([false, true, 'waiting']);
    const { logs } = await listLogs(ada, { type: 'access.revoked' });
    expect(logs).toEqual([
      expect.objectContaining({ user: 'olga@example.com', message: expect.stringContaining('laptop stolen') }),
    ]);
    expect(await revokeAccess(olga, { user: 'ada@example.com', reason: 'again' })).toMatchObject({ revoked: [] });
    expect(await revokeAccess(olga, { execution_id: two, reason: 'and him' })).toMatchObject({ revoked: [two] });
    await house.work();
    expect(holds('alan')).toBe(false);
  });

  it('is revoked of one request with its extensions, and one that still waits is named', async () => {
    const { house, ada, grace } = cast;
    const id = await hold();
    await house.pass(minute);
    const { output: active } = await extendElevation(ada, { id });
    await house.work();
    const done = await revokeAccess(olga, { execution_id: id, reason: 'an incident' });
    expect(done.revoked.sort()).toEqual([id, active.execution_id].sort());
    await house.work();
    expect(await holds('ada')).toBe(false);
    const asked = await ask(house, ada, { workflow: 'approved' });
    await approve(grace, asked);
    await house.work();
    await house.pass(minute);
    const { output: waiting } = await extendElevation(ada, { id: asked });
    await house.work();
    expect(await revokeAccess(olga, { execution_id: asked, reason: 'an incident' })).toMatchObject({
      open: expect.arrayContaining([waiting.execution_id]),
    });
  });

  it('is revoked of a person for whom a colleague requested it', async () => {
    const { house, ada } = cast;
    const delegates = { users: ['ada@example.com'] };
    await house.applyCatalog({
      ...catalogWith({}, { permissions: { groups: ['engineers'], delegates } }),
      access: { administrators: { groups: ['platform'] } },
    });
    const id = await ask(house, ada, { workflow: 'automatic', identities: ['mallory@example.com'] });
    const found = await all(olga, { user: 'mallory@example.com' });
    await revokeAccess(olga, { user: 'mallory@example.com', reason: 'an incident', end_requests: true });
    await house.work();
    expect([found.access.map((one) => one.execution_id), await holds('mallory')]).toEqual([[id], false]);
  });

  it('is found and revoked of a person who never signed in', async () => {
    const { house, ada } = cast;
    const delegates = { users: ['ada@example.com'] };
    await house.applyCatalog({
      ...catalogWith({}, { permissions: { groups: ['engineers'], delegates } }),
      access: { administrators: { groups: ['platform'] } },
    });
    const user = 'unseen@example.com';
    house.provider.options.people?.push({ id: user, name: 'unseen', email: user });
    await expect(revokeAccess(olga, { user, reason: 'an incident' })).rejects.toMatchObject({ code: 'not_found' });
    const id = await ask(house, ada, { workflow: 'automatic', identities: [user] });
    expect(await revokeAccess(olga, { user, reason: 'an incident' })).toMatchObject({ revoked: [id] });
    await house.work();
    expect(holds('unseen')).toBe(false);
  });

  it('is revoked of a role and at a provider, and of no other', async () => {
    const { house, ada, alan } = cast;
    const [one, two] = [await hold(ada), await hold(alan)];
    expect(await revokeAccess(olga, { role: 'other', reason: 'x' })).toMatchObject({ revoked: [] });
    expect(await revokeAccess(olga, { provider: 'other', reason: 'x' })).toMatchObject({ revoked: [] });
    const done = await revokeAccess(olga, { role: 'reader', provider: 'memory', reason: 'an incident' });
    expect([...done.revoked].sort()).toEqual([one, two].sort());
    await house.work();
    expect([holds('ada'), holds('alan')]).toEqual([false, false]);
  });

  it('ends open requests as well when that is requested', async () => {
    const { house, ada, grace } = cast;
    const held = await hold(ada);
    const waiting = await ask(house, ada);
    const done = await revokeAccess(olga, { user: 'ada@example.com', reason: 'left', end_requests: true });
    expect([done.ended.sort(), done.open]).toEqual([[held, waiting].sort(), []]);
    await house.work();
    expect([holds('ada'), await statusOf(ada, waiting), await statusOf(ada, held)]).toEqual([
      false,
      'terminated',
      'terminated',
    ]);
    await expect(approve(grace, waiting)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('is revoked while the provider is granting it', async () => {
    const { house, ada } = cast;
    const id = await request(ada, { workflow: 'automatic' });
    const gate = gateOf(house, 'ensurePresent');
    const working = sweep(gate.ctx).then(() => sweep(gate.ctx));
    await gate.reached;
    expect((await all(otto)).access).toEqual([expect.objectContaining({ execution_id: id, state: 'granting' })]);
    expect(await revokeAccess(olga, { user: 'ada@example.com', reason: 'now' })).toMatchObject({ revoked: [id] });
    gate.open();
    await working;
    await house.pass(minute);
    expect(holds('ada')).toBe(false);
  });

  it('is either revoked or of a request that the answer names, when it is granted at that moment', async () => {
    const { house, ada } = cast;
    for (let round = 0; round < 4; round += 1) {
      const ids = await Promise.all([1, 2, 3, 4].map(() => request(ada, { workflow: 'automatic' })));
      const [done] = await Promise.all([revokeAccess(olga, { user: 'ada@example.com', reason: 'now' }), house.work()]);
      const left = (await all(olga)).access.map(({ execution_id: id }) => id);
      expect(left.filter((id) => !done.open.includes(id))).toEqual([]);
      expect(ids.filter((id) => !done.open.includes(id) && !done.revoked.includes(id))).toEqual([]);
      await revokeAccess(olga, { user: 'ada@example.com', reason: 'the rest' });
      await house.work();
    }
  });

  it('is revoked by no auditor, approver or plain person, and never without a reason or for everyone', async () => {
    const { ada, grace } = cast;
    const id = await hold(ada);
    for (const person of [otto, grace, ada]) {
      await expect(revokeAccess(person, { execution_id: id, reason: 'x' })).rejects.toMatchObject({
        code: 'forbidden',
      });
    }
    await expect(revokeAccess(olga, { reason: 'x' })).rejects.toMatchObject({ code: 'invalid' });
    await expect(revokeAccess(olga, { execution_id: id, reason: '  ' })).rejects.toMatchObject({ code: 'invalid' });
    await expect(revokeAccess(olga, { user: 'ghost@example.com', reason: 'x' })).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(holds('ada')).toBe(true);
  });

  it('is revoked of the administrator by themselves, and the audit log has it', async () => {
    const { house } = cast;
    const eve = await house.person('alan', ['platform', 'engineers']);
    const id = await hold(eve);
    await revokeAccess(eve, { execution_id: id, reason: 'done with it' });
    const { logs } = await listLogs(eve, { type: 'access.revoked' });
    expect(logs).toEqual([expect.objectContaining({ user: 'alan@example.com', owner: 'alan@example.com' })]);
  });
});

describe('overdue revocations', () => {
  it('are listed with their error and when, and are due at once when an administrator tries them again', async () => {
    const { house, ada } = cast;
    const id = await hold(ada);
    house.provider.inject('ensureAbsent', { kind: 'conflict' }, 1_000);
    await revokeAccess(olga, { execution_id: id, reason: 'an incident' });
    await house.pass(20 * minute);
    const { revocations } = await listOverdue(otto, {});
    expect(revocations).toEqual([
      expect.objectContaining({
        provider: 'memory',
        users: [expect.objectContaining({ email: 'ada@example.com' })],
        executions: [id],
        last_error: expect.any(String),
        elsewhere: false,
      }),
    ]);
    const [one] = revocations;
    const given = { id: one?.id ?? '', reason: 'the system is back' };
    await expect(retryRevocation(otto, given)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(listOverdue(ada, {})).rejects.toMatchObject({ code: 'forbidden' });
    while (house.provider.take({ operation: 'ensureAbsent' })) continue;
    await retryRevocation(olga, given);
    await house.work();
    expect([holds('ada'), (await listOverdue(olga, {})).revocations]).toEqual([false, []]);
    await expect(retryRevocation(olga, given)).rejects.toMatchObject({ code: 'not_found' });
    const { logs } = await listLogs(ada, { type: 'revocation.retried' });
    expect(logs).toEqual([expect.objectContaining({ user: 'olga@example.com', workflow_id: id })]);
  });

  it('are counted from the end of the last grant: an extension is not overdue because the access that it extended ended long ago', async () => {
    const { house, ada } = cast;
    const id = await hold(ada);
    await house.pass(20 * minute);
    await extendElevation(ada, { id });
    await house.work();
    house.provider.inject('ensureAbsent', { kind: 'conflict' }, 1_000);
    await house.pass(30 * minute + 10_000);
    expect([holds('ada'), (await listOverdue(otto, {})).revocations]).toEqual([true, []]);
    await house.pass(2 * minute);
    expect((await listOverdue(otto, {})).revocations).toEqual([
      expect.objectContaining({ since: '2026-03-01T10:50:00.000Z' }),
    ]);
  });

  it('are counted although the person requests the access again and again, and the system rejects each grant', async () => {
    const { house, ada } = cast;
    const id = await hold(ada);
    house.provider.inject('ensureAbsent', { kind: 'conflict' }, 1_000);
    house.provider.inject('ensurePresent', { kind: 'refuse' }, 1_000);
    const { sql } = house.database;
    await revokeAccess(olga, { execution_id: id, reason: 'an incident' });
    const [ended] = await sql`select ended_at from grants`;
    for (let turn = 0; turn < 5; turn += 1) {
      await house.pass(20_000);
      await hold(ada);
    }
    expect(await sql`select 1 from grants where ended_reason = 'failed'`).toHaveLength(5);
    expect((await listOverdue(otto, {})).revocations).toEqual([
      expect.objectContaining({ since: new Date(ended?.ended_at).toISOString() }),
    ]);
  });

  it('are counted when a late grant call brought the access back, and its revocation after the quarantine fails', async () => {
    const { house, ada } = cast;
    house.provider.inject('ensurePresent', { kind: 'late', delayMilliseconds: 10 * minute });
    const id = await request(ada, { workflow: 'automatic' });
    await house.work();
    await revokeAccess(olga, { execution_id: id, reason: 'an incident' });
    await house.work();
    expect(await house.database.sql`select 1 from grants where gone_at is null`).toHaveLength(0);
    house.provider.land();
    await house.pass(11 * minute);
    house.provider.inject('ensureAbsent', { kind: 'conflict' }, 1_000);
    await house.pass(4 * minute + 30_000);
    expect([holds('ada'), (await listOverdue(otto, {})).revocations]).toEqual([true, []]);
    await house.pass(2 * minute);
    const { revocations } = await listOverdue(otto, {});
    expect(revocations).toMatchObject([{ provider: 'memory', identity: 'ada@example.com' }]);
    while (house.provider.take({ operation: 'ensureAbsent' })) continue;
    await retryRevocation(olga, { id: revocations[0]?.id ?? '', reason: 'the system is back' });
    await house.work();
    expect([holds('ada'), (await listOverdue(otto, {})).revocations]).toEqual([false, []]);
  });
});
