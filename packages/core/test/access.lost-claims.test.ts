import { isOutage } from '@belay/contract/outage';
import { claimDue, returnAccess } from '@belay/core';
import { openDatabase } from '@belay/db';
import { performStep } from '@belay/engine';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type FaultyProxy, startFaultyProxy } from '../../../chaos/src/faulty-proxy.js';
import { losingTheAnswer } from './support/losing.js';
import { withPlaces } from './support/places.js';
import { access, ask, type Cast, catalogWith, openCast, request } from './support/stories.js';

/** The clock of the database stands still, so that no lease ends by itself. */
const soon = { timeout: 30_000, interval: 20 };

describe('a claim whose answer is lost', () => {
  let cast: Cast;
  let proxy: FaultyProxy;
  let client: ReturnType<typeof openDatabase>;
  beforeEach(async () => {
    cast = await openCast({ catalog: catalogWith({ fleeting: [{ grant: { call: 'access.grant' } }] }) });
    const target = new URL(cast.house.database.url);
    proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
    target.hostname = '127.0.0.1';
    target.port = String(proxy.port);
    client = openDatabase(target.href, { max: 1 });
  });
  afterEach(async () => {
    await client.close();
    await proxy[Symbol.asyncDispose]();
    await cast[Symbol.asyncDispose]();
  });
  const holds = () => cast.house.provider.holds('ada@example.com', access);
  const leased = async () =>
    (await cast.house.database.sql`select 1 from entitlements where lease_until is not null`).length > 0;

  const held = async (workflow = 'automatic') => {
    const id = await ask(cast.house, cast.ada, { workflow });
    expect(holds()).toBe(true);
    return id;
  };

  it('is given back by its process when the database answers', async () => {
    const person = { ...cast.ada, db: client.db };
    const which = { provider: 'memory', limit: 10 };
    const id = await held();
    // The connection is open and the statement prepared, so that the next response is the one to the claim.
    await claimDue(person, which);
    await returnAccess(cast.ada, { execution_id: id });
    proxy.loseAnswers(() => true);
    proxy.refuse(true);
    const error = await claimDue(person, which).catch((thrown: unknown) => thrown);
    expect([isOutage(error), await leased(), holds()]).toEqual([true, true, true]);
    proxy.loseAnswers(undefined);
    proxy.refuse(false);
    await vi.waitFor(async () => expect(await leased()).toBe(false), soon);
    await cast.house.work();
    expect(holds()).toBe(false);
  });

  it.each(['automatic', 'fleeting'])('is given back when it was committed with a return (%s)', async (workflow) => {
    const id = await held(workflow);
    const { db, lost } = losingTheAnswer(cast.ada.db, leased);
    const worker = withPlaces({ ...cast.ada, db }, 1);
    await expect(returnAccess(worker.ctx, { execution_id: id })).rejects.toThrow();
    expect([lost(), holds(), worker.taken()]).toEqual([true, true, 0]);
    await vi.waitFor(async () => expect(await leased()).toBe(false), soon);
    await cast.house.work();
    expect(holds()).toBe(false);
  });

  it('is given back when it was committed with the intent of its grant', async () => {
    const id = await request(cast.ada, { workflow: 'automatic' });
    const [step] = await cast.house.database.sql`select key from steps where execution_id = ${id} and status = 'open'`;
    const { db, lost } = losingTheAnswer(cast.ada.db, leased);
    const worker = withPlaces({ ...cast.ada, db }, 1);
    await performStep(worker.ctx, { executionId: id, key: String(step?.key) });
    expect([lost(), holds(), worker.taken()]).toEqual([true, false, 0]);
    await vi.waitFor(async () => expect(await leased()).toBe(false), soon);
    await cast.house.work();
    expect(holds()).toBe(true);
  });
});
