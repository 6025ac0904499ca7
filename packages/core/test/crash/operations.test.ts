import type { MemoryProviderOptions } from '@belay/providers/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listOverdue } from '../../src/index.js';
import { access, catalogWith, hour, minute, second } from '../support/stories.js';
import { die, type Lane, type Lanes, openLanes } from './lanes.js';

/**
 * Every crashpoint of a grant and a revocation, and how often the story passes it at different places. No grant is recorded with
 * the move of its execution, because none is active when its call returns.
 */
const visits = new Map([
  ['intended', 6],
  ['entitlement claimed', 2],
  ['grant called', 18],
  ['failure recorded', 24],
  ['grant recorded', 4],
  ['looked again', 2],
  ['returned', 1],
  ['revocation asked', 1],
  ['cancellation stored', 1],
  ['stopped', 1],
  ['entitlement given back', 1],
  ['revoke called', 24],
  ['revoke recorded', 8],
]);
/** The first visit and one in the middle; every visit with `BELAY_TEST_LONG`. */
const visitsOf = (most: number) => {
  const every = Array.from({ length: most }, (_, index) => index + 1);
  return process.env.BELAY_TEST_LONG ? every : every.filter((visit) => visit === 1 || visit === Math.ceil(most / 2));
};
const cases = [...visits].flatMap(([name, most]) => visitsOf(most).map((visit): [string, number] => [name, visit]));

const stuck = { grant: 'alan@example.com', revoke: 'grace@example.com' };

describe('a process that is killed while its provider works on a change', () => {
  let lanes: Lanes;
  beforeAll(async () => {
    const revoking = [{ grant: { call: 'access.grant' } }, { revoke: { call: 'access.revoke' } }];
    const delegates = { permissions: { delegates: { users: ['ada@example.com'] } } };
    lanes = await openLanes(2, catalogWith({ revoking }, delegates));
  });
  afterAll(() => lanes[Symbol.asyncDispose]());

  it.concurrent.each(cases)('dies at "%s" (%i), and another takes over', { timeout: 120_000 }, (crashAt, occurrence) =>
    lanes.take((lane) => dieAndTakeOver(lane, crashAt, occurrence)),
  );
});

/**
 * Returns the behaviour of the provider: operations take 7 seconds. Of ada's operations, the second of every four
 * grants and the first of every two revocations fail. Grants of alan and revocations of grace never end.
 */
function createWorks(): NonNullable<MemoryProviderOptions['works']> {
  const begun = { grant: 0, revoke: 0 };
  return ({ task, identity }) => {
    if (identity === stuck[task]) return { delayMilliseconds: Number.POSITIVE_INFINITY };
    if (identity === 'ada@example.com') begun[task] += 1;
    const fails = identity === 'ada@example.com' && (task === 'grant' ? begun.grant % 4 === 2 : begun.revoke % 2 === 1);
    return { delayMilliseconds: 7 * second, ...(fails ? { fails } : {}) };
  };
}

async function dieAndTakeOver(lane: Lane, crashAt: string, occurrence: number): Promise<void> {
  const { house } = lane;
  const { sql } = house.database;
  const { provider } = house;
  provider.options.works = createWorks();
  await die(lane, { story: 'operations', crashAt, occurrence });
  await lane.look();

  // R1, R4: all access that is held, or that an operation may still grant, has a row that owes its revocation.
  expect(await owedBy(lane)).toEqual(expect.arrayContaining(mayBeHeld(lane)));
  await lane.pass(46 * second);
  for (let later = 0; later < 3; later += 1) {
    for (let poll = 0; poll < 6; poll += 1) await lane.pass(15 * second);
    await lane.pass(13 * hour);
  }
  // R4, R6: an operation that never ends settles nothing, however long ago it began, and operators see it as overdue.
  const left = Object.values(stuck).filter((identity) => provider.operation(identity, access, { peek: true }));
  expect(await owedBy(lane)).toEqual(left);
  expect(mayBeHeld(lane)).toEqual(left);
  const { revocations } = await listOverdue(house.operator(), {});
  expect(revocations.map(({ identity }) => identity).sort()).toEqual(left);
  expect(await running(lane)).toEqual({ open_steps: 0, running: 0, not_gone: expect.any(Number) });

  // Even these operations end, and nothing is left.
  provider.land();
  for (let later = 0; later < 6; later += 1) await lane.pass(16 * minute);
  expect(provider.held()).toEqual([]);
  expect(mayBeHeld(lane)).toEqual([]);
  expect(await owedBy(lane)).toEqual([]);
  expect(await running(lane)).toEqual({ open_steps: 0, running: 0, not_gone: 0 });
  const untold = await sql`select g.id from grants g where (select count(*) from ledger l
    where l.execution_id = g.execution_id and l.entitlement_id = g.entitlement_id and l.type = 'grant.intended') <> 1
    or not exists (select from ledger l where l.entitlement_id = g.entitlement_id and l.type = 'entitlement.revoked')`;
  expect([...untold]).toEqual([]);
}

/** Returns who holds access, or may hold it after an operation has ended. */
function mayBeHeld({ house: { provider } }: Lane): string[] {
  const people = (provider.options.people ?? []).map(({ id }) => id);
  return people
    .filter((id) => provider.holds(id, access) || provider.operation(id, access, { peek: true }) === 'grant')
    .sort();
}

async function owedBy({ house }: Lane): Promise<string[]> {
  const rows = await house.database.sql<{ identity: string }[]>`
    select identity from entitlements where state <> 'absent' order by identity`;
  return rows.map(({ identity }) => identity);
}

async function running({ house }: Lane) {
  const [row] = await house.database.sql`select
    (select count(*)::int from steps where status = 'open') as open_steps,
    (select count(*)::int from executions where ended_at is null) as running,
    (select count(*)::int from grants where gone_at is null) as not_gone`;
  return row;
}
