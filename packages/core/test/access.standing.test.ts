import { type ActorContext, acceptLeft, getExecution, listOverdue, returnAccess } from '@belay/core';
import { performStep } from '@belay/engine';
import type { MemoryConfig, MemoryFault } from '@belay/providers/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { gateOf } from './support/gate.js';
import { type OverseenCast, openOverseenCast } from './support/overseers.js';
import { access, ask, catalogWith, minute, type Person, request, second } from './support/stories.js';

const ada = 'ada@example.com';
let cast: OverseenCast;
afterEach(() => cast?.[Symbol.asyncDispose]());

/** Opens a house whose provider is as this configuration says. */
async function open(config: MemoryConfig): Promise<void> {
  const catalog = catalogWith({}) as { providers: { memory: object } };
  cast = await openOverseenCast({ ...catalog, providers: { memory: { ...catalog.providers.memory, config } } });
}

const holds = () => cast.house.provider.holds(ada, access);
const put = () => cast.house.provider.put(ada, access);
const rows = () => cast.house.database.sql`select state, open_calls from entitlements`;
const hold = (person: Person = cast.ada) => ask(cast.house, person, { workflow: 'automatic' });
const giveBack = async (id: string) => {
  await returnAccess(cast.ada, { execution_id: id });
  await cast.house.work();
};
const errorOf = async (id: string) => (await getExecution(cast.ada, { id })).error;

describe('access that others give after an end', () => {
  it('is theirs at once, where calls have landed when they return: the next request is rejected, and nothing removes it', async () => {
    await open({ never_late: true });
    await giveBack(await hold());
    expect([...(await rows())]).toEqual([{ state: 'absent', open_calls: 0 }]);
    put();
    const next = await hold();
    expect(await errorOf(next)).toMatchObject({
      type: 'https://belay.dev/errors/held-outside',
      detail: expect.stringContaining('again, after it was read there as removed'),
    });
    await cast.house.pass(20 * minute);
    expect(holds()).toBe(true);
  });

  it('is not taken over by a request within the quarantine either, where calls may land late', async () => {
    await open({});
    await giveBack(await hold());
    expect([...(await rows())]).toMatchObject([{ state: 'revoking' }]);
    put();
    const next = await hold();
    expect(await errorOf(next)).toMatchObject({ detail: expect.stringContaining('again, after it was read there') });
    expect(holds()).toBe(true);
  });

  it('does not stop a request that is made while the earlier access is still being revoked', async () => {
    await open({ never_late: true });
    const first = await hold();
    await returnAccess(cast.ada, { execution_id: first });
    const next = await hold();
    expect(await errorOf(next)).toBeNull();
    expect(holds()).toBe(true);
  });
});

describe('the quarantine', () => {
  it.each<[string, MemoryFault]>([
    ['whose response was lost', { kind: 'lost-answer' }],
    ['that failed', { kind: 'conflict' }],
    ['that lands later', { kind: 'late', delayMilliseconds: 5 * minute }],
  ])('follows a grant call %s, although the next one was read back as held', async (_what, fault) => {
    await open({ never_late: true });
    cast.house.provider.inject('ensurePresent', fault);
    const id = await hold();
    await cast.house.pass(10 * second);
    expect([...(await rows())]).toMatchObject([{ state: 'granted', open_calls: 1 }]);
    await giveBack(id);
    expect([...(await rows())]).toMatchObject([{ state: 'revoking', open_calls: 1 }]);
    await cast.house.pass(6 * minute);
    await cast.house.pass(10 * minute);
    expect([...(await rows())]).toEqual([{ state: 'absent', open_calls: 0 }]);
    expect(holds()).toBe(false);
  });

  it('follows a call that another worker took over', async () => {
    await open({ never_late: true });
    const { house } = cast;
    const id = await request(cast.ada, { workflow: 'automatic' });
    const [step] = await house.database.sql`select key from steps where execution_id = ${id} and status = 'open'`;
    const gate = gateOf(house, 'ensurePresent');
    const performing = performStep(gate.ctx, { executionId: id, key: String(step?.key) });
    await gate.reached;
    await house.pass(46 * second);
    expect([...(await rows())]).toMatchObject([{ state: 'granted', open_calls: 1 }]);
    gate.open();
    await performing;
    await house.work();
    await giveBack(id);
    expect([...(await rows())]).toMatchObject([{ state: 'revoking', open_calls: 1 }]);
  });
});

describe('access that others give while it is held', () => {
  let olga: ActorContext;
  const opened = async () => {
    await open({ never_late: true, marks: true });
    ({ olga } = cast);
    const id = await hold();
    // The mark of another system replaces Belay's.
    cast.house.provider.remove(ada, access);
    cast.house.provider.put(ada, access, 'ops');
    await giveBack(id);
    await cast.house.pass(2 * minute);
    return id;
  };
  const overdue = async () => (await listOverdue(olga, {})).revocations;

  it('stays, is overdue and named, and is gone for Belay when an operator accepts exactly that', async () => {
    const id = await opened();
    const [one] = await overdue();
    const left = 'The access was given by others (ops)';
    expect(one).toMatchObject({ executions: [id], last_error: left, left_to_others: left });
    expect(holds()).toBe(true);
    const given = { id: one?.id ?? '', left, reason: 'they joined the team' };
    await expect(acceptLeft(olga, { ...given, left: 'something else' })).rejects.toMatchObject({ code: 'conflict' });
    for (const person of [cast.otto, cast.ada])
      await expect(acceptLeft(person, given)).rejects.toMatchObject({ code: 'forbidden' });
    await acceptLeft(olga, given);
    await cast.house.work();
    expect([await overdue(), holds()]).toEqual([[], true]);
    expect([...(await rows())]).toEqual([{ state: 'absent', open_calls: 0 }]);
    const [told] = await cast.house.database.sql`select data from ledger where type = 'revocation.accepted'`;
    expect(told?.data).toEqual({ reason: 'they joined the team', left });
    await expect(acceptLeft(olga, given)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is not gone when something else is left after an operator accepted', async () => {
    await opened();
    const [one] = await overdue();
    await acceptLeft(olga, { id: one?.id ?? '', left: one?.left_to_others ?? '', reason: 'they joined the team' });
    cast.house.provider.put(ada, access, 'another');
    await cast.house.work();
    expect(await overdue()).toMatchObject([{ left_to_others: 'The access was given by others (another)' }]);
  });

  it('cannot be accepted by an administrator whose own access it is', async () => {
    await open({ never_late: true, marks: true });
    const eve = await cast.house.person('ada', ['platform', 'engineers']);
    const id = await hold(eve);
    cast.house.provider.remove(ada, access);
    cast.house.provider.put(ada, access, 'ops');
    await returnAccess(eve, { execution_id: id });
    await cast.house.pass(2 * minute);
    const [one] = (await listOverdue(cast.olga, {})).revocations;
    await expect(
      acceptLeft(eve, { id: one?.id ?? '', left: one?.left_to_others ?? '', reason: 'mine' }),
    ).rejects.toMatchObject({ code: 'forbidden' });
  });
});
