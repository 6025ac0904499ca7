import { AccessError } from '@belay/contract/errors';
import {
  type Database,
  type EndedReason,
  entitlements,
  execute,
  executeFor,
  executions,
  grants,
  inGroups,
  inOrder,
  type Statement,
  sqlText,
  statementOf,
  type Transaction,
} from '@belay/db';
import { type Locked, lockedAny, lockingAny, retryDeadlock, storeOutcome } from '@belay/engine';
import type { ActorContext, ActorStore, Job, Store } from '../context.js';
import { appendLedger, type LedgerEntry } from '../ledger/append.js';
import { claimOf } from './claim.js';
import { type EndedRow, type EndWithClaim, endingGrants, endingWithClaim, jobsOf } from './end.js';
import { settleHolds } from './held.js';
import { openPlaces } from './places.js';

/**
 * Ends the access of an execution, also when the execution has ended: access outlives a completed workflow. The outcome of
 * its parked steps is stored in the same transaction, and a worker makes the calls. Throws `conflict` when no access is
 * held.
 */
export async function endHeld(
  ctx: ActorStore,
  execution: { id: string },
  how: {
    reason: EndedReason;
    entry?: LedgerEntry;
    /** Only the grants of these entitlements. */
    entitlementIds?: readonly string[];
  },
): Promise<void> {
  const { reason, entitlementIds, entry } = how;
  const ending = { executionId: execution.id, reason, actor: ctx.actor, entitlementIds };
  const { rows, jobs } = await endUnderLock(ctx, execution.id, (tx) => endingGrants(tx, ending), { entry });
  ctx.crashpoint('returned');
  ctx.waker.wake([...jobsOf(rows), ...jobs]);
}

/**
 * Ends access by a statement under the execution's lock, and stores the outcomes of the parked steps that waited for it. Returns what
 * the statement returned, and the jobs for these steps. Throws `conflict` when no access is held, and what `check` throws.
 */
function endUnderLock<Row extends object>(
  ctx: ActorStore,
  executionId: string,
  ending: (tx: Transaction) => Statement<Row[]>,
  { check = () => {}, entry }: { check?: (rows: readonly Row[]) => void; entry?: LedgerEntry | undefined } = {},
): Promise<{ rows: readonly Row[]; jobs: Job[] }> {
  return retryDeadlock(() =>
    ctx.db.transaction(async (tx) => {
      const [found, rows, settled] = await inOrder([
        lockingAny(tx, executionId),
        ending(tx),
        { execute: () => settleHolds(tx, executionId) },
      ]);
      check(rows);
      if (rows.length === 0) throw new AccessError('conflict', 'The execution holds no access');
      if (entry) await appendLedger(tx, [entry]);
      const running = lockedAny(found)?.running;
      return { rows, jobs: running ? await settleParked(ctx, tx, running, settled) : [] };
    }),
  );
}

/** Stores the outcomes of the parked calls that waited for the end of this access. */
async function settleParked(
  ctx: ActorStore,
  tx: Transaction,
  execution: Locked,
  { settled, others }: Awaited<ReturnType<typeof settleHolds>>,
): Promise<Job[]> {
  const jobs = settled.map((key): Job => ({ queue: 'executions', executionId: execution.id, key }));
  for (const { key, call } of others) {
    const progress = await ctx.host.functions.get(call)?.progress?.(ctx, tx, execution, key);
    if (!progress) continue;
    await storeOutcome(tx, { executionId: execution.id, key, outcome: progress.outcome });
    jobs.push(...(progress.jobs ?? []), { queue: 'executions', executionId: execution.id, key });
  }
  return jobs;
}

/** Thrown for an execution that is extended, or extends another one. */
export class Related extends Error {}

/**
 * Ends the access of an execution of `owner`, and makes the revoke calls for which this process has a free place. The
 * execution's turn is taken when the loss is recorded, or by the worker that gets the job. Returns false, and ends nothing,
 * for an execution of another owner. With `alone`, throws `Related`, and ends nothing, for an execution that is extended or
 * extends another one: the caller has to end those too. Throws `conflict` when no access is held.
 */
export async function endHeldHere(
  ctx: ActorContext,
  execution: { id: string },
  how: { reason: EndedReason; owner: string; alone?: boolean },
): Promise<boolean> {
  const places = openPlaces(ctx);
  try {
    const seen = await readHolding(ctx.db, { db: ctx.db, executionId: execution.id, owner: how.owner });
    if (!seen) return false;
    const placed = { ids: places.reserve(seen.held, 'revoke'), claimId: places.claimId };
    const ending = { executionId: execution.id, ownerId: how.owner, reason: how.reason, actor: ctx.actor, placed };
    const ended = await places.claiming(() =>
      endingHere(ctx, { ...ending, held: seen.held }, { alone: how.alone, over: seen.over }),
    );
    const claims = ended.rows.flatMap((row) =>
      row.claimed
        ? [{ reserved: row.id, claim: claimOf({ ...row, task: 'revoke', until: null, name: null }, places.openedAt) }]
        : [],
    );
    places.keep(claims, jobsOf(ended.rows));
    ctx.crashpoint('returned');
    // The record of the loss also takes the execution's turn, so no other worker is woken for it.
    ctx.waker.wake([...places.begin(), ...(claims.length > 0 ? [] : ended.jobs)]);
    return true;
  } finally {
    places.release();
  }
}

interface Holding {
  over: boolean;
  held: { id: string; provider: string }[];
}

type Owned = { db: Database; executionId: string; owner: string };

/**
 * Returns the entitlements that need a place, and whether the execution has ended; null for the execution of another
 * owner. Concurrent calls of this process share one statement.
 */
const readHolding = inGroups(readHoldings);

async function readHoldings(group: readonly [Owned, ...Owned[]]): Promise<(Holding | null)[]> {
  const list = (texts: readonly string[]) => sqlText`${`{${texts.join(',')}}`}::text::uuid[]`;
  const rows = await execute<{ nth: string; over: boolean; id: string | null; provider: string | null }>(
    group[0].db,
    sqlText`
    select asked.nth, ${executions.endedAt} is not null as over, e.id, e.provider
    from unnest(${list(group.map(({ executionId }) => executionId))}, ${list(group.map(({ owner }) => owner))})
      with ordinality as asked (id, owner, nth)
      join ${executions} on ${executions.id} = asked.id and ${executions.ownerId} = asked.owner
      left join ${grants} on ${grants.executionId} = ${executions.id} and ${grants.endedAt} is null
      left join ${entitlements} e on e.id = ${grants.entitlementId}`,
  );
  const found = group.map((): Holding | null => null);
  for (const { nth, over, id, provider } of rows) {
    const place = Number(nth) - 1;
    const holding = found[place] ?? { over, held: [] };
    found[place] = holding;
    if (id !== null && provider !== null) holding.held.push({ id, provider });
  }
  return found;
}

/**
 * Ends access in one statement with `alone` if its execution has ended, is not extended and extends no other one;
 * otherwise under the execution's lock.
 */
async function endingHere(
  ctx: ActorContext,
  ending: Ended,
  { alone = false, over }: { alone: boolean | undefined; over: boolean },
): Promise<{ rows: readonly EndedRow[]; jobs: Job[] }> {
  if (alone && over) {
    const rows = await endAlone(ctx.db, { ctx, ending });
    if (rows.length > 0) return { rows, jobs: [] };
  }
  const statement = endingWithClaim(ctx, [ending], { alone: false });
  return endUnderLock(ctx, ending.executionId, (tx) => statementOf<EndedRow>(tx, statement), {
    check: (rows) => {
      if (alone && rows.some(({ related }) => related)) throw new Related();
    },
  });
}

/** The end of an execution's access, with the entitlements that were held before it. */
type Ended = EndWithClaim & Pick<Holding, 'held'>;

type EndAlone = { ctx: Store; ending: Ended };

/** Ends access whose execution has ended; concurrent calls of this process share one statement. */
const endAlone = inGroups(
  async (group: readonly [EndAlone, ...EndAlone[]], hurried): Promise<readonly EndedRow[][]> => {
    const [{ ctx }] = group;
    const endings = group.map(({ ending }) => ending);
    const rows = await retryDeadlock(() =>
      executeFor<EndedRow>(ctx.db, endingWithClaim(ctx, endings, { alone: true }), hurried),
    );
    return endings.map((_, index) => rows.filter(({ nth }) => Number(nth) === index + 1));
  },
  ({ ending: { executionId, held } }) => [executionId.toLowerCase(), ...held.map(({ id }) => id)],
);
