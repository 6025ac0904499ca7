import { AccessError } from '@belay/contract/errors';
import {
  cancelExecution,
  decideApproval,
  reconcileEntitlement,
  requestElevation,
  returnAccess,
  terminateExecution,
} from '@belay/core';
import { performStep } from '@belay/engine';
import type { MemoryFault, MemoryOperation } from '@belay/providers/testkit';
import { approvalTasks } from '@belay/testkit/house';
import { sweep } from '@belay/testkit/sweep';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cast, catalogWith, minute, openCast, type Person, runOut, second } from './support/stories.js';
import { readWrongs } from './support/wrongs.js';

// BELAY_TEST_LONG sets the number of sequences and makes them longer, BELAY_TEST_SEED the seed.
const long = Number(process.env.BELAY_TEST_LONG ?? 0);
const seed = Number(process.env.BELAY_TEST_SEED ?? 20260301);

type Verb = 'approve' | 'deny' | 'cancel' | 'terminate' | 'return' | 'perform' | 'reconcile' | 'sweep';
type Operation =
  | { do: 'request'; who: number; role: string; workflow: string; minutes: number }
  | { do: 'act'; verbs: Verb[]; who: number; pick: number }
  | { do: 'work' }
  | { do: 'pass'; milliseconds: number }
  | { do: 'fault'; operation: MemoryOperation; fault: MemoryFault; times: number }
  | { do: 'down'; down: boolean }
  | { do: 'land' }
  | { do: 'edit'; put: boolean; who: number; role: string };

const roles = ['reader', 'writer', 'both'];
const verbs: Verb[] = ['approve', 'approve', 'deny', 'cancel', 'terminate', 'return', 'perform', 'reconcile', 'sweep'];
const pick = fc.nat(50);
const reads: MemoryFault[] = [{ kind: 'throttle' }, { kind: 'conflict' }, { kind: 'lost-answer' }, { kind: 'hang' }];
const writes: MemoryFault[] = [
  ...reads,
  { kind: 'refuse' },
  { kind: 'fails-later' },
  { kind: 'late', delayMilliseconds: 60_000 },
  { kind: 'asynchronous', delayMilliseconds: 60_000 },
];
const faultOf = (operation: MemoryOperation, among: MemoryFault[]) =>
  fc.record({
    do: fc.constant('fault' as const),
    operation: fc.constant(operation),
    fault: fc.constantFrom(...among),
    times: fc.integer({ min: 1, max: 2 }),
  });
const operations: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('request' as const),
      who: fc.nat(2),
      role: fc.constantFrom(...roles),
      workflow: fc.constantFrom('approved', 'approved', 'automatic', 'automatic', 'taken', 'forked', 'caught'),
      minutes: fc.constantFrom(1, 10, 30, 120),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('act' as const),
      verbs: fc.array(fc.constantFrom(...verbs), { minLength: 1, maxLength: 4 }),
      who: fc.nat(2),
      pick,
    }),
  },
  { weight: 5, arbitrary: fc.constant<Operation>({ do: 'work' }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      milliseconds: fc.constantFrom(second, 46 * second, 5 * minute, 9 * minute),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.oneof(
      faultOf('holds', [...reads, { kind: 'unknown' }]),
      faultOf('identities', reads),
      faultOf('ensurePresent', writes),
      faultOf('ensureAbsent', writes),
    ),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('down' as const), down: fc.boolean() }) },
  { weight: 2, arbitrary: fc.constant<Operation>({ do: 'land' }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('edit' as const),
      put: fc.boolean(),
      who: fc.nat(2),
      role: fc.constantFrom('read', 'write'),
    }),
  },
);

function catalog(): object {
  const base = catalogWith({
    taken: [
      { grant: { call: 'access.grant' } },
      { wait: { wait: { minutes: 3 } } },
      { revoke: { call: 'access.revoke' } },
    ],
    forked: [
      {
        both: {
          fork: {
            branches: [{ one: { do: [{ grant: { call: 'access.grant' } }] } }, { other: { do: approvalTasks() } }],
          },
        },
      },
    ],
    caught: [
      {
        guarded: {
          try: [{ grant: { call: 'access.grant', timeout: { after: 'PT2M' } } }, { hold: { call: 'access.hold' } }],
          catch: { do: [{ on: { wait: { minutes: 1 } } }] },
        },
      },
    ],
  }) as { roles: { reader: object } };
  const { reader } = base.roles;
  return {
    ...base,
    roles: {
      reader,
      writer: { ...reader, inherits: ['memory:write'] },
      both: { ...reader, inherits: ['reader', 'memory:write'] },
    },
  };
}

describe('with any events, in any order', () => {
  let cast: Cast;
  let people: Person[];
  let played = 0;
  let refused = 0;
  let granted = 0;
  /** Access that another person gave while Belay had no claim on it: Belay must never revoke it. */
  const standing = new Set<string>();
  let sinceLanding = 0;

  beforeAll(async () => {
    cast = await openCast({ catalog: catalog(), timing: { callTimeout: 120, earlyCheck: 60 } });
    const { house, ada, alan } = cast;
    people = [ada, alan, await house.person('grace', ['approvers', 'engineers'])];
  });
  afterAll(async () => {
    console.info(`invariants: seed ${seed}, ${played} operations, ${refused} verbs rejected, ${granted} grants`);
    await cast[Symbol.asyncDispose]();
  });

  const person = (index: number) => people[index % people.length] as Person;
  const keyOf = (identity: string, role: unknown) => `${identity} ${String(role)}`;

  async function one(rows: readonly { id: string; key?: string }[], index: number) {
    return rows[index % Math.max(rows.length, 1)];
  }

  /** Calls a verb as a person does. */
  async function act(verb: Verb, who: number, index: number): Promise<void> {
    const { house } = cast;
    const { sql } = house.database;
    const executions = await sql<
      { id: string; owner_id: string }[]
    >`select id, owner_id from executions order by ended_at is not null, created_at desc limit 8`;
    const execution = executions[index % Math.max(executions.length, 1)];
    if (!execution) return;
    const { id } = execution;
    const owner = people.find(({ actor }) => actor.id === execution.owner_id) ?? person(who);
    if (verb === 'perform') {
      const step = await one(
        await sql<
          { id: string; key: string }[]
        >`select execution_id as id, key from steps order by status <> 'open', opened_at desc limit 8`,
        index,
      );
      if (step?.key) await performStep(house.ctx, { executionId: step.id, key: step.key });
    } else if (verb === 'reconcile') {
      const row = await one(await sql<{ id: string }[]>`select id from entitlements order by due_at limit 8`, index);
      if (row) await reconcileEntitlement(house.ctx, { entitlementId: row.id });
    } else if (verb === 'sweep') await sweep(house.ctx);
    else if (verb === 'cancel') await cancelExecution(owner, { id });
    else if (verb === 'terminate') await terminateExecution(owner, { id });
    else if (verb === 'return') await returnAccess(owner, { execution_id: id });
    else await decideApproval(person(who), { id, verdict: verb, via: 'api' });
  }

  async function play(operation: Operation): Promise<void> {
    const { house } = cast;
    if (operation.do === 'request') {
      const asked = {
        role: operation.role,
        reason: 'a ticket',
        workflow: operation.workflow,
        duration: `PT${operation.minutes}M`,
      };
      await tolerate(requestElevation(person(operation.who), asked));
    } else if (operation.do === 'act') {
      await Promise.all(
        operation.verbs.map((verb, offset) => tolerate(act(verb, operation.who + offset, operation.pick))),
      );
    } else if (operation.do === 'work') await house.work();
    else if (operation.do === 'pass') {
      // R5 assumes that a call lands before the quarantine of its entitlement is over.
      sinceLanding += operation.milliseconds;
      if (sinceLanding > 10 * minute) land();
      await house.database.advance(operation.milliseconds);
    } else if (operation.do === 'fault') house.provider.inject(operation.operation, operation.fault, operation.times);
    else if (operation.do === 'down') house.provider.down = operation.down;
    else if (operation.do === 'land') land();
    else await edit(operation);
  }

  async function tolerate(work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (!(error instanceof AccessError) || error.code === 'internal') throw error;
      refused += 1;
    }
  }

  function land(): void {
    cast.house.provider.land();
    sinceLanding = 0;
  }

  /** Edits the provider by hand, without Belay. */
  async function edit(operation: { put: boolean; who: number; role: string }): Promise<void> {
    const { house } = cast;
    land();
    const identity = person(operation.who).actor.email;
    const access = { role: operation.role };
    const [claimed] = await house.database
      .sql`select 1 from entitlements where state <> 'absent' and identity = ${identity} and access = ${access as never}`;
    if (!operation.put) {
      house.provider.remove(identity, access);
      standing.delete(keyOf(identity, operation.role));
    } else if (!claimed) {
      if (!house.provider.holds(identity, access)) house.provider.put(identity, access);
      standing.add(keyOf(identity, operation.role));
    }
  }

  async function check(after: unknown): Promise<void> {
    const wrongs = await readWrongs(cast.house);
    const unowned = cast.house.provider
      .held()
      .filter(
        ({ identity, access }) =>
          !standing.has(keyOf(identity, access.role)) && !wrongs.owed.has(keyOf(identity, access.role)),
      );
    expect({ wrongs: wrongs.found, unowned }, `after ${JSON.stringify(after)}`).toEqual({ wrongs: [], unowned: [] });
  }

  /**
   * Ends all faults of the provider and works past every quarantine. The provider then holds what live grants want and what was
   * there before.
   */
  async function heal(): Promise<void> {
    const { house } = cast;
    house.provider.down = false;
    for (const operation of ['holds', 'ensurePresent', 'ensureAbsent', 'identities'] as const) {
      while (house.provider.take({ operation })) continue;
    }
    land();
    for (const wait of [second, 46 * second, 6 * minute, 16 * minute, 6 * minute]) await house.pass(wait);
    const wanted = await house.database
      .sql`select distinct e.identity, e.access ->> 'role' as role from entitlements e join grants g on g.entitlement_id = e.id
      where g.ended_at is null and g.expires_at > app_now()`;
    const allowed = new Set([...standing, ...wanted.map(({ identity, role }) => keyOf(identity, role))]);
    expect(house.provider.held().filter(({ identity, access }) => !allowed.has(keyOf(identity, access.role)))).toEqual(
      [],
    );
    await runOut(house);
    const [left] = await house.database
      .sql`select (select count(*)::int from executions where ended_at is null) as running,
      (select count(*)::int from entitlements where state <> 'absent') as owed, (select count(*)::int from grants where gone_at is null) as not_gone`;
    expect(left).toEqual({ running: 0, owed: 0, not_gone: 0 });
    const held = house.provider.held().map(({ identity, access }) => keyOf(identity, access.role));
    expect(new Set(held)).toEqual(standing);
    for (const { identity, access } of house.provider.held()) house.provider.remove(identity, access);
    standing.clear();
  }

  it('no access without a claim, no claim without an end, and no one approves their own', {
    timeout: long ? 1_800_000 : 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(operations, { minLength: 20, maxLength: long ? 80 : 30, size: 'max' }),
        async (sequence) => {
          try {
            for (const operation of sequence) {
              await play(operation);
              played += 1;
              await check(operation);
            }
          } finally {
            await heal();
          }
          await check('everything is over');
        },
      ),
      { seed, numRuns: long || 25, endOnFailure: true },
    );
    const [counted] = await cast.house.database
      .sql`select count(*)::int as grants from grants where activated_at is not null`;
    granted = counted?.grants as number;
    // Sequences that never grant anything would fulfil every invariant.
    expect(played).toBeGreaterThan(200);
    expect(granted).toBeGreaterThan(20);
  });
});
