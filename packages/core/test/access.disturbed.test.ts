import { cancelExecution, claimDue, getExecution, performClaims, returnAccess } from '@belay/core';
import { openDatabase } from '@belay/db';
import { performStep } from '@belay/engine';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gateOf, stopClockOf } from './support/gate.js';
import { access, ask, type Cast, catalogWith, minute, openCast, request, second } from './support/stories.js';

describe('an entitlement that is changed during its calls', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast({ catalog: catalogWith({}) });
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const holds = () => cast.house.provider.holds('ada@example.com', access);
  const claim = () => claimDue(cast.house.ctx, { provider: 'memory', limit: 10 });
  const grantOf = async (id: string) => (await getExecution(cast.ada, { id })).grants[0];
  const rowNow = async () =>
    (await cast.house.database.sql`select state, lease_until, due_at - app_now() as due from entitlements`)[0];
  /** Makes a request whose first grant call fails, so that its grant waits and is due. */
  const waiting = async () => {
    cast.house.provider.inject('ensurePresent', { kind: 'throttle' });
    const id = await ask(cast.house, cast.ada, { workflow: 'automatic', duration: 'PT30M' });
    await cast.house.database.advance(2 * second);
    return id;
  };
  /** Intends a grant, and cancels it, while a call is on its way. */
  const askAndCancel = async () => {
    const { house, ada } = cast;
    const id = await request(ada, { workflow: 'automatic', duration: 'PT30M' });
    const [step] = await house.database.sql`select key from steps where execution_id = ${id} and status = 'open'`;
    await performStep(house.ctx, { executionId: id, key: step?.key as string });
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'granting' }]);
    await cancelExecution(ada, { id });
  };

  it('starts the clock of its grant although the holder requests and cancels during every call', async () => {
    const { house } = cast;
    const id = await waiting();
    const ends = new Set<unknown>();
    for (let call = 1; call <= 3; call += 1) {
      const gate = gateOf(house, 'ensurePresent', call % 2 === 0 ? 'after' : 'before');
      const claims = await claim();
      expect(claims).toMatchObject([{ task: 'grant' }]);
      const performing = performClaims(gate.ctx, claims);
      await gate.reached;
      await askAndCancel();
      gate.open();
      await performing;
      const grant = await grantOf(id);
      expect(grant).toMatchObject({ state: 'active' });
      ends.add(grant?.expires_at);
      // The call is repeated, because what was read back may be outdated. It is not repeated within a second of its claim.
      expect(await rowNow()).toMatchObject({ state: 'granting', lease_until: null });
      expect(await claim()).toEqual([]);
      await house.database.advance(second);
    }
    expect(ends.size).toBe(1);
    await house.pass(30 * minute);
    expect(holds()).toBe(false);
  });

  it('is revoked although the holder requests and cancels during every call', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await returnAccess(ada, { execution_id: id });
    for (let call = 1; call <= 3; call += 1) {
      const gate = gateOf(house, 'ensureAbsent', call % 2 === 0 ? 'after' : 'before');
      const claims = await claim();
      expect(claims).toMatchObject([{ task: 'revoke' }]);
      const performing = performClaims(gate.ctx, claims);
      await gate.reached;
      await askAndCancel();
      gate.open();
      await performing;
      expect(holds()).toBe(false);
      // Nothing settles while it may be outdated.
      expect(await grantOf(id)).toMatchObject({ state: 'ended', gone_at: null });
      await house.database.advance(second);
    }
    await house.work();
    expect(await grantOf(id)).toMatchObject({ state: 'gone' });
  });

  /** Requests access after the record of the due call has its snapshot, and before it locks: it is stopped when it first reads the clock. */
  const askDuringRecord = async () => {
    const { house, ada } = cast;
    const claims = await claim();
    const client = openDatabase(house.database.url, { max: 1, applicationName: 'late' });
    const stopped = await stopClockOf(house, 'late');
    const performing = performClaims({ ...house.ctx, db: client.db }, claims);
    await stopped.reached();
    const later = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await stopped.release();
    await performing;
    await client.close();
    return later;
  };

  it('is recorded by a statement that began before an intent was committed: the new grant waits for the next call', async () => {
    const { house } = cast;
    const id = await waiting();
    const later = await askDuringRecord();
    expect(await grantOf(id)).toMatchObject({ state: 'active' });
    expect(await grantOf(later)).toMatchObject({ state: 'granting' });
    expect(await rowNow()).toMatchObject({ state: 'granting', lease_until: null });
    await house.pass(second);
    expect(await grantOf(later)).toMatchObject({ state: 'active' });
  });

  it('is not settled by a record that began before an intent was committed: it is granted again', async () => {
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    await returnAccess(ada, { execution_id: id });
    const later = await askDuringRecord();
    expect(await rowNow()).toMatchObject({ state: 'granting', lease_until: null });
    await house.work();
    expect(await grantOf(later)).toMatchObject({ state: 'active' });
    expect(holds()).toBe(true);
  });
});
