import { claimDue, isOutage, performClaims, performStep, returnAccess } from '@belay/core';
import { openDatabase } from '@belay/db';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type FaultyProxy, startFaultyProxy } from '../../../chaos/src/faulty-proxy.js';
import { withPlaces } from './support/places.js';
import { access, ask, type Cast, minute, openCast, type Person, request } from './support/stories.js';

/** The clock of the database stands still, so that no lease ends by itself. */
const soon = { timeout: 10_000, interval: 20 };

describe('a claim whose answer is lost', () => {
  let cast: Cast;
  let proxy: FaultyProxy;
  let client: ReturnType<typeof openDatabase>;
  beforeEach(async () => {
    cast = await openCast();
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

  /** Does something, each time with the next answer of the database lost, until none is; returns how often a claim was left. */
  async function loseEach(
    begin: () => Promise<(person: Person) => Promise<unknown>>,
    end: () => Promise<unknown>,
  ): Promise<number> {
    let left = 0;
    for (let keep = 0; ; keep += 1) {
      const work = await begin();
      let heard = 0;
      let lost = 0;
      proxy.loseAnswers(() => {
        heard += 1;
        if (heard <= keep || lost > 0) return false;
        lost += 1;
        return true;
      });
      const error = await work({ ...cast.ada, db: client.db }).catch((thrown: unknown) => thrown);
      proxy.loseAnswers(undefined);
      if (error !== undefined) expect(isOutage(error)).toBe(true);
      if (await leased()) left += 1;
      await vi.waitFor(async () => expect([keep, await leased()]).toEqual([keep, false]), soon);
      await cast.house.work();
      await end();
      if (lost === 0) return left;
    }
  }

  const held = async () => {
    const id = await ask(cast.house, cast.ada, { workflow: 'automatic' });
    expect(holds()).toBe(true);
    return id;
  };

  it('is given back by its process when the database answers: a revocation', async () => {
    const left = await loseEach(
      async () => {
        await returnAccess(cast.ada, { execution_id: await held() });
        return async (person) => {
          const claims = await claimDue(person, { provider: 'memory', limit: 10 });
          await performClaims(person, claims);
        };
      },
      async () => expect(holds()).toBe(false),
    );
    expect(left).toBeGreaterThan(0);
  });

  it('is given back when it was committed with the return that it follows', async () => {
    const left = await loseEach(
      async () => {
        const id = await held();
        return async (person) => {
          const worker = withPlaces(person, 1);
          await returnAccess(worker.ctx, { execution_id: id }).finally(worker.settled);
        };
      },
      async () => {
        // A return that was not committed is made again by who asked for it.
        const [open] = await cast.house.database.sql`select execution_id as id from grants where ended_at is null`;
        if (open) await returnAccess(cast.ada, { execution_id: open.id });
        await cast.house.work();
        expect(holds()).toBe(false);
      },
    );
    expect(left).toBeGreaterThan(0);
  });

  it('is given back when it was committed with the intent of its grant', async () => {
    let id = '';
    const left = await loseEach(
      async () => {
        id = await request(cast.ada, { workflow: 'automatic' });
        const [step] = await cast.house.database
          .sql`select key from steps where execution_id = ${id} and status = 'open'`;
        return async (person) => {
          const worker = withPlaces(person, 1);
          await performStep(worker.ctx, { executionId: id, key: String(step?.key) }).finally(worker.settled);
        };
      },
      async () => {
        // Steps have leases of their own, which end.
        await cast.house.pass(minute);
        expect(holds()).toBe(true);
        await returnAccess(cast.ada, { execution_id: id });
        await cast.house.work();
        expect(holds()).toBe(false);
      },
    );
    expect(left).toBeGreaterThan(0);
  });
});
