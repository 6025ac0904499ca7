import { setImmediate as turn } from 'node:timers/promises';
import { AccessError } from '@belay/contract/errors';
import {
  type Context,
  cancelExecution,
  type Job,
  reconcileEntitlement,
  requestElevation,
  returnAccess,
  terminateExecution,
} from '@belay/core';
import { type DatabaseClient, openDatabase } from '@belay/db';
import { performStep } from '@belay/engine';
import type { MemoryFault } from '@belay/providers/testkit';
import { sweep } from '@belay/testkit/sweep';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { access, type Cast, catalogWith, minute, openCast, runOut, second } from './support/stories.js';

// BELAY_TEST_ROUNDS sets the number of rounds, BELAY_TEST_SEED the seed. CI plays 300 rounds, other runs 100.
const rounds = Number(process.env.BELAY_TEST_ROUNDS ?? (process.env.CI ? 300 : 100));
const seed = Number(process.env.BELAY_TEST_SEED ?? 20260301);
const perRun = 10;

type Ending = 'return' | 'cancel' | 'terminate';
type Operation = { worker: number; after: number } & (
  | { do: 'ask'; minutes: number }
  | { do: 'end'; how: Ending; pick: number }
  | { do: 'sweep' }
  | { do: 'pass'; milliseconds: number }
);
interface Round {
  faults: { operation: 'holds' | 'ensurePresent' | 'ensureAbsent'; fault: MemoryFault }[];
  operations: Operation[];
}

const where = { worker: fc.nat(3), after: fc.nat(12) };
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ ...where, do: fc.constant('ask' as const), minutes: fc.constantFrom(1, 5, 30) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      ...where,
      do: fc.constant('end' as const),
      how: fc.constantFrom<Ending>('return', 'return', 'return', 'cancel', 'terminate'),
      pick: fc.nat(7),
    }),
  },
  { weight: 2, arbitrary: fc.record({ ...where, do: fc.constant('sweep' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...where,
      do: fc.constant('pass' as const),
      milliseconds: fc.constantFrom(second, 20 * second, minute, 4 * minute),
    }),
  },
);
const fault = fc.record({
  operation: fc.constantFrom('holds' as const, 'ensurePresent' as const, 'ensureAbsent' as const),
  fault: fc.constantFrom<MemoryFault>({ kind: 'throttle' }, { kind: 'conflict' }, { kind: 'lost-answer' }),
});
const round: fc.Arbitrary<Round> = fc.record({
  faults: fc.oneof(
    { weight: 3, arbitrary: fc.constant<Round['faults']>([]) },
    { weight: 1, arbitrary: fc.array(fault, { maxLength: 2 }) },
  ),
  operations: fc.array(operation, { minLength: 2, maxLength: 7 }),
});

/** A request as the requester knows it: the times between which it began, how long it may last, and whether it was ended. */
interface Asked {
  id: string;
  notBefore: number;
  notAfter: number;
  duration: number;
  ended: boolean;
}

describe('overlapping grants of one entitlement, from several connections at once', () => {
  let cast: Cast;
  let clients: DatabaseClient[];
  let workers: Context[];
  let clock = 0;
  let asked: Asked[] = [];
  const working = new Set<Promise<void>>();
  const played = { rounds: 0, asked: 0, ended: 0, refused: 0, grants: 0, revocations: 0 };

  /** Does what a worker does with a job, immediately and concurrently with everything else. */
  const follow = (job: Job, index: number) => {
    if (job.dueAt && job.dueAt.getTime() > clock) return;
    const ctx = workers[index % workers.length] as Context;
    const work =
      job.queue === 'executions'
        ? performStep(ctx, job)
        : reconcileEntitlement(ctx, { entitlementId: job.entitlementId });
    const tracked = work.finally(() => working.delete(tracked));
    working.add(tracked);
    // A failure is awaited later; this only prevents an unhandled rejection until then.
    tracked.catch(() => undefined);
  };

  beforeAll(async () => {
    cast = await openCast({ catalog: catalogWith({}) });
    const { house } = cast;
    const [row] = await house.database.sql`select at from test_clock`;
    clock = new Date(row?.at).getTime();
    clients = Array.from({ length: 4 }, () => openDatabase(house.database.url, { max: 4 }));
    workers = clients.map((client, index) => ({
      ...house.ctx,
      db: client.db,
      waker: { wake: (jobs) => jobs.forEach((job, offset) => void follow(job, index + offset + 1)) },
    }));
  });
  afterAll(async () => {
    console.info(`overlap: seed ${seed}, ${JSON.stringify(played)}`);
    await Promise.all(clients.map((client) => client.close()));
    await cast[Symbol.asyncDispose]();
  });

  async function act(operation: Operation): Promise<void> {
    for (let turns = 0; turns < operation.after; turns += 1) await turn();
    const ctx = { ...(workers[operation.worker] as Context), actor: cast.ada.actor };
    if (operation.do === 'sweep') await sweep(ctx);
    else if (operation.do === 'pass') await pass(operation.milliseconds);
    else if (operation.do === 'ask') {
      if (asked.filter((one) => !one.ended).length > 6) return;
      const notBefore = clock;
      const terms = { role: 'reader', reason: 'a ticket', workflow: 'automatic', duration: `PT${operation.minutes}M` };
      const { output } = await requestElevation(ctx, terms);
      const duration = operation.minutes * minute;
      asked.push({ id: output.execution_id, notBefore, notAfter: Number.POSITIVE_INFINITY, duration, ended: false });
      played.asked += 1;
    } else {
      const live = asked.filter((one) => !one.ended);
      const one = live[operation.pick % Math.max(live.length, 1)];
      if (!one) return;
      try {
        if (operation.how === 'return') await returnAccess(ctx, { execution_id: one.id });
        else if (operation.how === 'cancel') await cancelExecution(ctx, { id: one.id });
        else await terminateExecution(ctx, { id: one.id });
        one.ended = true;
        played.ended += 1;
      } catch (error) {
        if (!(error instanceof AccessError) || error.code !== 'conflict') throw error;
        played.refused += 1;
      }
    }
  }

  async function pass(milliseconds: number): Promise<void> {
    clock += milliseconds;
    await cast.house.database.advance(milliseconds);
  }

  /** Resolves when every job is done and no row is due at this time. */
  async function settle(): Promise<void> {
    const { ctx } = cast.house;
    for (let pass = 0; pass < 100; pass += 1) {
      while (working.size > 0) await Promise.all([...working]);
      const done = await sweep(workers[pass % workers.length] ?? ctx);
      if (done.steps + done.entitlements + working.size === 0) return;
    }
    throw new Error('The work does not come to rest');
  }

  async function play({ faults, operations }: Round): Promise<void> {
    const { provider } = cast.house;
    for (const { operation, fault } of faults) provider.inject(operation, fault);
    await Promise.all(operations.map(act));
    await settle();
    // Removes the faults that no call has met. Work that met a fault is retried after its back-off.
    for (const operation of ['holds', 'ensurePresent', 'ensureAbsent'] as const) {
      while (provider.take({ operation })) continue;
    }
    if (faults.length > 0) {
      await pass(31 * second);
      await settle();
    }
    for (const one of asked) one.notAfter = Math.min(one.notAfter, clock);
    judge(operations);
    played.rounds += 1;
  }

  /** Compares the provider with what was requested and ended, as the requester knows it; reads no rows of Belay. */
  function judge(after: unknown): void {
    const live = asked.filter((one) => !one.ended);
    const held = cast.house.provider.holds('ada@example.com', access);
    const mustHold = live.some((one) => clock < one.notBefore + one.duration);
    const mayHold = live.some((one) => clock < one.notAfter + one.duration);
    expect({ held, mustHold, mayHold }, `at ${clock} after ${JSON.stringify(after)}: ${JSON.stringify(asked)}`).toEqual(
      {
        held,
        mustHold: mustHold && held,
        mayHold: mayHold || held,
      },
    );
    asked = live.filter((one) => clock < one.notAfter + one.duration);
  }

  it('are held while one of them lives and at no time after the last', {
    timeout: 60_000 + rounds * 4_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(round, { minLength: perRun, maxLength: perRun }), async (script) => {
        for (const each of script) await play(each);
        asked = [];
        await runOut(cast.house);
        clock += 48 * 60 * minute;
        await settle();
        expect(cast.house.provider.held()).toEqual([]);
        const [owed] = await cast.house.database
          .sql`select count(*)::int as owed from entitlements where state <> 'absent'`;
        expect(owed).toEqual({ owed: 0 });
      }),
      { numRuns: Math.ceil(rounds / perRun), seed, endOnFailure: true },
    );
    played.grants = cast.house.provider.count('ensurePresent');
    played.revocations = cast.house.provider.count('ensureAbsent');
    // A run in which nothing overlapped and nothing ended would prove nothing.
    expect(played.asked).toBeGreaterThan(rounds);
    expect(played.ended).toBeGreaterThan(rounds / 2);
    expect(played.revocations).toBeGreaterThan(rounds / 4);
  });
});
