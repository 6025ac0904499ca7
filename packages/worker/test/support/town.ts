import { type Context, requestElevation, type Timing } from '@belay/core';
import { createMemoryProvider, type MemoryProvider } from '@belay/providers/testkit';
import { approvalCatalog, createHouse } from '@belay/testkit/house';
import { expect, vi } from 'vitest';
import { startWorker } from '../../src/start.js';
import { createWaker } from '../../src/waker.js';
import { recordLog } from './context.js';
import { type Silence, type Stubborn, silentConnector } from './silent.js';
import type { Transport } from './transports.js';

export const eventually = { timeout: 150_000, interval: 5 };
export const people = Array.from({ length: 40 }, (_, index) => `person${index}`);
/** Shorter limits than in production, in about the same proportion, so that tests do not wait for minutes. */
const brief = { earlyCheck: 100, callTimeout: 6_000, callPatience: 2_000, lease: 10_000 };

export type Town = Awaited<ReturnType<typeof openTown>>;

/** Returns a house with the targets `silent` and `well`, a role for each, a worker for both, and the real clock. */
export async function openTown(transport: Transport, stubborn: Stubborn, timing: Partial<Timing> = brief) {
  const silence: Silence = { operations: new Set(), waiting: 0, asked: 0 };
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
    timing,
    connectors: [
      silentConnector('silent', states.silent, { silence, stubborn }),
      silentConnector('well', states.well.state, {
        silence: { operations: new Set(), waiting: 0, asked: 0 },
        stubborn,
      }),
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
    signedIn,
    waker,
    thereNow: () => states.silent.held(),
    heldThere: () => states.silent.held().length,
    /** Makes `number` requests, 20 at a time, by the people from the index `from` on. */
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

/** Returns a provider that records when access was granted and revoked, by identity. */
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
