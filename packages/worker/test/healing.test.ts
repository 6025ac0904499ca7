import { listAccess, requestElevation, returnAccess } from '@belay/core';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Stubborn } from './support/silent.js';
import { eventually, openTown, type Town } from './support/town.js';
import { type Transport, transports } from './support/transports.js';

const second = 1_000;
/** Every call of the target. */
const everything = ['ensurePresent', 'ensureAbsent', 'holds', 'pin', 'find', 'check'] as const;

/** Makes 20 people get 100 accesses and give them back. Unless `answering`, the target stops responding before they give back. */
async function giveBack(town: Town, from: number, answering: boolean): Promise<void> {
  const holders = town.signedIn.slice(from, from + 20);
  await town.requestAll(20, { role: 'there', duration: 'PT1H' }, from);
  await vi.waitFor(() => expect(town.heldThere()).toBe(100), eventually);
  await vi.waitFor(async () => expect(await owed(town)).toBe(0), eventually);
  if (!answering) town.silence.operations = new Set(everything);
  for (const holder of holders) {
    const { access } = await listAccess(holder);
    for (const id of new Set(access.map(({ execution_id }) => execution_id))) {
      await returnAccess({ ...holder, waker: town.waker }, { execution_id: id });
    }
  }
}

async function owed(town: Town): Promise<number> {
  const [row] = await town.house.database
    .sql`select count(*)::int as n from entitlements where provider = 'silent' and lease_until is not null`;
  return Number(row?.n);
}

async function timeUntil(what: () => void): Promise<number> {
  const begun = Date.now();
  await vi.waitFor(what, eventually);
  return Date.now() - begun;
}

describe.each(transports)('a target that responds again, with jobs over $kind', ({ start }) => {
  let transport: Transport;
  let town: Town;
  beforeAll(async () => {
    transport = await start();
  });
  afterAll(() => transport.stop());
  afterEach(() => town.close());

  it.each<Stubborn>(['stops', 'goes on'])(
    'revokes what is owed there, and grants again, within ten seconds, when an aborted call %s',
    async (stubborn) => {
      // The limits are those of production, so a call that began before the target responds again hangs for 30 seconds.
      town = await openTown(transport, stubborn, {});
      await giveBack(town, 0, true);
      const usual = await timeUntil(() => expect(town.heldThere()).toBe(0));

      await giveBack(town, 20, false);
      const { silence } = town;
      // A call hangs in every place, and so does the query for the person's identity; further work waits.
      const asked = { role: 'there', reason: 'a ticket', duration: 'PT1H', workflow: 'automatic' };
      const late = town.signedIn[0];
      if (late) await requestElevation({ ...late, waker: town.waker }, asked);
      await vi.waitFor(() => expect(silence.asked).toBeGreaterThanOrEqual(2), eventually);
      expect(town.heldThere()).toBe(100);

      silence.operations = new Set();
      const next = town.signedIn[1];
      if (next) await requestElevation({ ...next, waker: town.waker }, asked);
      // The accesses that are left are the five of each of the two new requests.
      const taken = await timeUntil(() =>
        expect(new Set(town.thereNow().map(({ identity }) => identity))).toEqual(
          new Set(['person0@example.com', 'person1@example.com']),
        ),
      );
      await vi.waitFor(() => expect(town.heldThere()).toBe(10), eventually);
      expect(taken).toBeLessThan(usual + 10 * second);
    },
  );
});
