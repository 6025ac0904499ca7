import { type Context, requestElevation } from '@belay/core';
import { createMemoryProvider, type MemoryProvider } from '@belay/providers/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { approvalCatalog, createHouse, type House } from '../../../test/support/house.js';
import { startWorker } from '../src/start.js';
import { createWaker } from '../src/waker.js';
import { recordLog } from './support/context.js';
import { type Silence, type Stubborn, silentConnector } from './support/silent.js';
import { type Transport, transports } from './support/transports.js';

const eventually = { timeout: 60_000, interval: 5 };
const second = 1_000;
const people = Array.from({ length: 40 }, (_, index) => `person${index}`);

/** A house with two targets, `silent` and `well`, a role and a worker at both, and the real clock. */
async function openTown(transport: Transport, stubborn: Stubborn) {
  const silence: Silence = { operations: new Set(), waiting: 0 };
  const states = { silent: createMemoryProvider({ now: () => new Date() }), well: timedProvider() };
  const catalog = approvalCatalog() as { roles: { reader: object } };
  const role = (provider: string, inherits: string[]) => ({
    ...catalog.roles.reader,
    providers: [provider],
    inherits,
  });
  const accesses = (provider: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${provider}:read${index}`);
  const house = await createHouse({
    time: null,
    catalog: {
      ...catalog,
      providers: {
        silent: { provider: 'silent', description: 'A target that does not answer' },
        well: { provider: 'well', description: 'A target that does' },
      },
      roles: { there: role('silent', accesses('silent', 5)), here: role('well', ['well:read']) },
    },
    people,
    // Short, so that a test does not take as long as an outage; in proportion as they are in production.
    timing: { earlyCheck: 100, callTimeout: 6_000, callPatience: 2_000, lease: 10_000 },
    connectors: [
      silentConnector('silent', states.silent, { silence, stubborn }),
      silentConnector('well', states.well.state, { silence: { operations: new Set(), waiting: 0 }, stubborn }),
    ],
  });
  const log = recordLog();
  const backend = await transport.open(log);
  await vi.waitFor(async () => expect(await backend.check()).toBe('healthy'), eventually);
  const waker = createWaker(backend, log, { now: Date.now });
  const context: Context = { ...house.ctx, waker };
  const worker = await startWorker({ context, backend });
  const signedIn = await Promise.all(people.map((name) => house.person(name, ['engineers'])));
  return {
    house,
    silence,
    well: states.well,
    heldThere: () => states.silent.held().length,
    /** Makes so many requests, twenty at a time, from one of the people on. */
    async requestAll(number: number, what: { role: string; duration: string }, from = 0) {
      const asked = { ...what, reason: 'a ticket', workflow: 'automatic' };
      for (let made = 0; made < number; made += 20) {
        const asking = Array.from({ length: 20 }, (_, index) => signedIn[(from + made + index) % people.length]);
        await Promise.all(asking.map((person) => person && requestElevation({ ...person, waker }, asked)));
      }
    },
    async close() {
      await worker.stop({ graceMilliseconds: 100 });
      await waker.close();
      await backend.close();
      await house[Symbol.asyncDispose]();
    },
  };
}

/** A provider that remembers when each access was taken away, by the identity. */
function timedProvider(): { state: MemoryProvider; granted: Map<string, number>; gone: Map<string, number> } {
  const state = createMemoryProvider({ now: () => new Date() });
  const granted = new Map<string, number>();
  const gone = new Map<string, number>();
  const { put, remove } = state;
  state.put = (identity, access, id) => {
    granted.set(identity, Date.now());
    return put.call(state, identity, access, id);
  };
  state.remove = (identity, access) => {
    gone.set(identity, Date.now());
    return remove.call(state, identity, access);
  };
  return { state, granted, gone };
}

/** Twenty people get access at the target that is well, and lose it; returns the worst times, in milliseconds. */
async function visit(
  town: Awaited<ReturnType<typeof openTown>>,
  from: number,
): Promise<{ granted: number; late: number }> {
  const { granted, gone } = town.well;
  granted.clear();
  gone.clear();
  const begun = Date.now();
  await town.requestAll(20, { role: 'here', duration: 'PT2S' }, from);
  await vi.waitFor(() => expect(gone.size).toBe(20), eventually);
  const rows = await town.house.database.sql<{ identity: string; expires: string }[]>`
    select e.identity, g.expires_at as expires from grants g join entitlements e on e.id = g.entitlement_id
    where e.provider = 'well'`;
  const late = rows.flatMap(({ identity, expires }) => {
    const at = gone.get(identity);
    return at === undefined ? [] : [at - new Date(expires).getTime()];
  });
  expect(late).toHaveLength(20);
  return { granted: Math.max(...granted.values()) - begun, late: Math.max(...late) };
}

/** What a silent target elsewhere may cost: a second beside what the same takes on this machine now. */
function expectUnharmed(found: { granted: number; late: number }, before: { granted: number; late: number }): void {
  expect(found.late).toBeLessThan(before.late + second);
  expect(found.granted).toBeLessThan(before.granted + 5 * second);
}

const count = async (house: House, what: 'owed' | 'asking') => {
  const { sql } = house.database;
  const [row] =
    what === 'owed'
      ? await sql`select count(*)::int as n from entitlements where provider = 'silent' and state = 'granting'`
      : await sql`select count(*)::int as n from executions where ended_at is null and input->>'role' = 'there'`;
  return Number(row?.n);
};

describe.each(transports)('a silent target, with hints over $kind', ({ start }) => {
  let transport: Transport;
  let town: Awaited<ReturnType<typeof openTown>>;
  beforeAll(async () => {
    transport = await start();
  });
  afterAll(() => transport.stop());
  afterEach(() => town.close());

  it.each<Stubborn>(['stops', 'goes on'])(
    'delays no revocation elsewhere while 200 grants are owed there, when a call that is told to stop %s',
    async (stubborn) => {
      town = await openTown(transport, stubborn);
      const before = await visit(town, 0);
      town.silence.operations = new Set(['ensurePresent', 'ensureAbsent']);
      await town.requestAll(people.length, { role: 'there', duration: 'PT1H' });
      await vi.waitFor(async () => expect(await count(town.house, 'owed')).toBe(5 * people.length), eventually);
      await vi.waitFor(() => expect(town.silence.waiting).toBeGreaterThanOrEqual(24), eventually);
      expectUnharmed(await visit(town, 20), before);
      expect(await count(town.house, 'owed')).toBe(5 * people.length);
    },
  );

  it.each<Stubborn>(['stops', 'goes on'])(
    'stops no execution elsewhere while 200 requests wait for its answer, when a call that is told to stop %s',
    async (stubborn) => {
      town = await openTown(transport, stubborn);
      const before = await visit(town, 0);
      town.silence.operations = new Set(['find', 'pin', 'holds']);
      await town.requestAll(200, { role: 'there', duration: 'PT1H' });
      await vi.waitFor(() => expect(town.silence.waiting).toBeGreaterThanOrEqual(16), eventually);
      expectUnharmed(await visit(town, 20), before);
      expect(await count(town.house, 'asking')).toBe(200);

      // When it speaks again, those who waited get what they asked for.
      town.silence.operations = new Set();
      await vi.waitFor(() => expect(town.heldThere()).toBeGreaterThan(0), eventually);
    },
  );
});
