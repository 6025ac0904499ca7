import type { House } from '@belay/testkit/house';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Stubborn } from './support/silent.js';
import { eventually, openTown, people, type Town } from './support/town.js';
import { type Transport, transports } from './support/transports.js';

const second = 1_000;

/** Makes 20 people get and lose access at the healthy target; returns the longest delays, in milliseconds. */
async function visit(town: Town, from: number): Promise<{ granted: number; late: number }> {
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

/**
 * Expects that a silent target has cost less than five seconds, compared with the same visit before. A call to the silent target takes
 * six seconds, so no person has waited for one.
 */
function expectUnharmed(found: { granted: number; late: number }, before: { granted: number; late: number }): void {
  expect(found.late).toBeLessThan(before.late + 5 * second);
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

describe.each(transports)('a silent target, with jobs over $kind', ({ start }) => {
  let transport: Transport;
  let town: Town;
  beforeAll(async () => {
    transport = await start();
  });
  afterAll(() => transport.stop());
  afterEach(() => town.close());

  it.each<Stubborn>(['stops', 'goes on'])(
    'delays no revocation elsewhere while 200 grants are owed there, when an aborted call %s',
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
    'delays no execution elsewhere while 200 requests wait for its response, when an aborted call %s',
    async (stubborn) => {
      town = await openTown(transport, stubborn);
      const before = await visit(town, 0);
      town.silence.operations = new Set(['find', 'pin', 'holds']);
      await town.requestAll(200, { role: 'there', duration: 'PT1H' });
      await vi.waitFor(() => expect(town.silence.waiting).toBeGreaterThanOrEqual(16), eventually);
      expectUnharmed(await visit(town, 20), before);
      expect(await count(town.house, 'asking')).toBe(200);

      // When the target responds again, the waiting requests are granted.
      town.silence.operations = new Set();
      await vi.waitFor(() => expect(town.heldThere()).toBeGreaterThan(0), eventually);
    },
  );
});
