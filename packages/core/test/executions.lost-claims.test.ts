import { isOutage } from '@belay/contract/outage';
import { type Context, requestElevation } from '@belay/core';
import { openDatabase } from '@belay/db';
import { freeLostStep, performStep, TURN } from '@belay/engine';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type FaultyProxy, startFaultyProxy } from '../../../chaos/src/faulty-proxy.js';
import { goingAway, losingTheAnswer } from './support/losing.js';
import { withPlaces } from './support/places.js';
import { access, beginOnly, type Cast, catalogWith, openCast, request, statusOf } from './support/stories.js';

/** The clock of the database stands still, so that no lease ends by itself. */
const soon = { timeout: 30_000, interval: 20 };
const tell = { call: 'access.notify', with: { provider: 'memory', to: 'ada', message: 'hello' } };
const limited = { ...tell, timeout: { after: { hours: 1 } } };

describe('a claim of a step whose answer is lost', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast({
      catalog: catalogWith({ telling: [{ first: limited }, { second: tell }, { pause: { wait: { hours: 1 } } }] }),
    });
  });
  afterEach(() => cast[Symbol.asyncDispose]());
  const leases = () => cast.house.database.sql<{ key: string; attempt: number }[]>`
    select key, attempt from steps where lease_until is not null order by key`;
  const leased = async () => (await leases()).length > 0;
  const leasedStep = async () => (await leases()).some(({ key }) => key !== TURN);
  const isFree = () => vi.waitFor(async () => expect(await leased()).toBe(false), soon);
  const messages = () => cast.house.provider.messages.length;
  const turnOf = (executionId: string) => ({ executionId, key: TURN });

  describe('of the statement that takes what is due', () => {
    let proxy: FaultyProxy;
    let client: ReturnType<typeof openDatabase>;
    beforeEach(async () => {
      const target = new URL(cast.house.database.url);
      proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
      target.hostname = '127.0.0.1';
      target.port = String(proxy.port);
      client = openDatabase(target.href, { max: 1 });
    });
    afterEach(async () => {
      await client.close();
      await proxy[Symbol.asyncDispose]();
    });

    it('is given back by its process when the database answers', async () => {
      const ctx = { ...cast.house.ctx, db: client.db };
      const executionId = await request(cast.ada, { workflow: 'telling' });
      await beginOnly(cast.house, executionId);
      const step = { executionId, key: '/do/0/first#0' };
      // The connection is open and the statement prepared, so that the next response is the one to the claim.
      await performStep(ctx, { ...step, key: '/do/0/nothing#0' });
      proxy.loseAnswers(() => true);
      proxy.refuse(true);
      const error = await performStep(ctx, step).catch((thrown: unknown) => thrown);
      expect([isOutage(error), await leases(), messages()]).toEqual([true, [{ key: step.key, attempt: 1 }], 0]);
      proxy.loseAnswers(undefined);
      proxy.refuse(false);
      await isFree();
      await cast.house.work();
      expect(messages()).toBe(2);
    });
  });

  it('is given back when it was committed with the move that opened the step', async () => {
    const executionId = await request(cast.ada, { workflow: 'telling' });
    const { db, lost } = losingTheAnswer(cast.ada.db, leased);
    await expect(performStep({ ...cast.house.ctx, db }, turnOf(executionId))).rejects.toThrow();
    expect([lost(), messages()]).toEqual([true, 0]);
    await isFree();
    await cast.house.work();
    expect(messages()).toBe(2);
  });

  it('is given back when it was committed with the outcome of the call before it, in a transaction', async () => {
    const executionId = await request(cast.ada, { workflow: 'telling' });
    const second = async () => (await leases()).some(({ key }) => key.includes('second'));
    const { db, lost } = losingTheAnswer(cast.ada.db, second);
    await expect(performStep({ ...cast.house.ctx, db }, turnOf(executionId))).rejects.toThrow();
    expect([lost(), messages()]).toEqual([true, 1]);
    await isFree();
    await cast.house.work();
    expect(messages()).toBe(2);
  });

  it.each([undefined, 'a key of the caller'])(
    'is given back when it was committed with a request, whose first turn it is (Idempotency-Key: %s)',
    async (idempotencyKey) => {
      const { db, lost } = losingTheAnswer(cast.ada.db, leased);
      const worker = withPlaces({ ...cast.ada, db }, 1);
      await expect(
        requestElevation(worker.ctx, { role: 'reader', reason: 'a ticket', workflow: 'telling', idempotencyKey }),
      ).rejects.toThrow();
      expect([lost(), worker.taken(), messages()]).toEqual([true, 0, 0]);
      await isFree();
      await cast.house.work();
      expect(messages()).toBe(2);
    },
  );

  it('is given back when it was committed with a grant that was rejected', async () => {
    cast.house.provider.put('ada@example.com', access);
    const { db, lost } = losingTheAnswer(cast.ada.db, leasedStep);
    const worker = withPlaces({ ...cast.ada, db }, 2);
    const executionId = await request({ ...worker.ctx, actor: cast.ada.actor }, { workflow: 'automatic' });
    await worker.settled();
    expect([lost(), worker.taken()]).toEqual([true, 0]);
    await isFree();
    await cast.house.work();
    expect(await statusOf(cast.ada, executionId)).toBe('faulted');
  });

  /** Returns a worker whose database is unavailable after it has made a call, until `back`. */
  function losingTheDatabase(): { ctx: Context; back(): void } {
    let away = false;
    const crashpoint = (name: string) => {
      if (name === 'call performed') away = true;
    };
    const ctx = { ...cast.house.ctx, db: goingAway(cast.house.ctx.db, () => away), crashpoint };
    return { ctx, back: () => void (away = false) };
  }

  it('is given back when the database goes away before anything could be written of the call', async () => {
    const executionId = await request(cast.ada, { workflow: 'telling' });
    await beginOnly(cast.house, executionId);
    const { ctx, back } = losingTheDatabase();
    await expect(performStep(ctx, { executionId, key: '/do/0/first#0' })).rejects.toThrow();
    expect([await leasedStep(), messages()]).toEqual([true, 1]);
    back();
    await isFree();
    await cast.house.work();
    // The call is made again with the same key.
    expect(await statusOf(cast.ada, executionId)).toBe('waiting');
  });

  it('stays with the next process that has claimed the step since', async () => {
    const executionId = await request(cast.ada, { workflow: 'telling' });
    await beginOnly(cast.house, executionId);
    const { sql } = cast.house.database;
    const lost = await cast.house.ctx.newId();
    await sql`
      update steps set attempt = 2, claim = ${`${lost} 1`}, lease_until = app_now() + interval '45 s'
      where execution_id = ${executionId} and key like '%first%'`;
    await sql`
      update steps set attempt = 1, claim = ${`${cast.house.ctx.newId()} 1`}, lease_until = app_now() + interval '45 s'
      where execution_id = ${executionId} and key not like '%first%' and kind <> 'event'`;
    const before = await leases();
    let looked = 0;
    const delay: Context['delay'] = async (...given) => {
      looked += 1;
      await cast.house.ctx.delay(...given);
    };
    freeLostStep({ ...cast.house.ctx, delay }, lost);
    await vi.waitFor(() => expect(looked).toBeGreaterThan(1), soon);
    expect(await leases()).toEqual(before);
  });
});
