import type { Outcome } from '@belay/workflow';
import type { ClaimedCall, EngineContext, PreparedMove } from '../ports.js';
import { claimedCall } from '../steps/claim.js';
import { storeOutcome } from '../steps/outcome.js';
import { readSnapshot, type Snapshot } from '../steps/snapshot.js';
import { forgetTurn, turnJob } from '../steps/turn-row.js';
import { decideTurn, type Serve } from './decide-turn.js';
import { prepareOutcome } from './prepare-move.js';
import { prepare } from './prepared.js';
import { follow, givesWay, type Series } from './series.js';
import { writeAlone } from './write-alone.js';

interface HowToTake {
  claim?: boolean;
  /** The turns that this one belongs to; absent for a single turn. */
  series?: Series | undefined;
}

/** How often a move is decided while it loses against other moves, before a later job takes the turn. */
const tries = 5;

/**
 * Takes the turn of an execution: applies what is ready and writes it once. Succeeds when nothing is ready. With `claim`, returns
 * the one call that the move opened, claimed for the caller, who performs it. `leased` is true when no other process takes this
 * turn, or is the snapshot that the turn would read. A call whose function joins the move to its own commit (`joins`) is then
 * returned with the move not written yet. `serve` returns the outcomes of calls that the caller has already.
 */
export async function takeTurn(
  ctx: EngineContext,
  executionId: string,
  {
    claim = false,
    leased = false,
    serve,
    series,
  }: HowToTake & { leased?: boolean | Snapshot; serve?: Serve | undefined } = {},
): Promise<ClaimedCall | null> {
  for (let made = 0; made < tries; made += 1) {
    const given = made === 0 && typeof leased === 'object' ? leased : null;
    const snapshot = given ?? (await readSnapshot(ctx, executionId));
    if (!snapshot) {
      await forgetTurn(ctx, executionId);
      return null;
    }
    if (givesWay(snapshot, series, made > 0)) return null;
    const decided = await decideTurn(ctx, snapshot, undefined, serve);
    if (!decided) return null;
    const keep = series?.mayKeep();
    const move = prepare(ctx, snapshot, decided, { claim, keep });
    const call = claimedBy(ctx, snapshot, move);
    // The cleanup after a cancellation is checked under its open step, so the move that opens the step must be written first.
    const mayJoin = leased !== false && call !== null && snapshot.cancelRequestedAt === null;
    if (mayJoin && ctx.host.functions.get(call.name)?.joins) return { ...call, pending: move };
    if (await writeAlone(ctx, move)) {
      follow(series, { decided, move, kept: keep === true && call === null });
      return call;
    }
  }
  ctx.waker.wake([turnJob(executionId)]);
  return null;
}

/** Resolves a call with its outcome, unless another process has taken it over. Returns the call to continue with. */
export async function resolveCall(
  ctx: EngineContext,
  call: Pick<ClaimedCall, 'executionId' | 'key' | 'attempt'>,
  outcome: Outcome,
  { claim = false, series }: HowToTake = {},
): Promise<ClaimedCall | null> {
  const { executionId, key } = call;
  let job = turnJob(call.executionId);
  try {
    for (let made = 0; made < tries; made += 1) {
      const prepared = await prepareOutcome(ctx, executionId, { ...call, outcome, claim, series });
      if (!prepared) break;
      if (!(await writeAlone(ctx, prepared.move))) continue;
      const next = claimedBy(ctx, prepared.snapshot, prepared.move);
      follow(series, { ...prepared, kept: prepared.keep && next === null });
      return next;
    }
  } catch (error) {
    if (ctx.host.isOutage(error)) throw error;
    // An outcome that cannot be applied is stored, so that the call is not repeated. The turn then fails, and is retried.
    job = { queue: 'executions', executionId, key };
  }
  await keepOutcome(ctx, call, outcome, job);
  return null;
}

/** Stores the outcome of a call, unless another process has taken the call over, for a turn that `job` leads to. */
export async function keepOutcome(
  ctx: EngineContext,
  { executionId, key, attempt }: Pick<ClaimedCall, 'executionId' | 'key' | 'attempt'>,
  outcome: Outcome,
  job = turnJob(executionId),
): Promise<void> {
  const kept = await storeOutcome(ctx.db, { executionId, key, attempt, outcome });
  ctx.crashpoint('outcome stored');
  if (kept) ctx.waker.wake([job]);
}

function claimedBy(ctx: EngineContext, snapshot: Snapshot, move: PreparedMove): ClaimedCall | null {
  const { claimed } = move;
  const step = move.open.find(({ key }) => key === claimed?.key);
  if (step?.kind !== 'call' || !claimed) return null;
  const { id: executionId, workflow, ownerId, input, beside } = snapshot;
  return claimedCall(ctx, {
    executionId,
    key: step.key,
    claimId: claimed.id,
    request: step.request,
    attempt: 1,
    workflow,
    input,
    ownerId,
    beside,
  });
}
