import { isOutage } from '@belay/contract/outage';
import { entitlements, inGroups } from '@belay/db';
import { traced } from '@belay/engine';
import { Pending, Renamed, urgently } from '@belay/providers';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { authorizerOf, leftToOthers, publicMessage } from '../catalog/authorizer.js';
import type { Context } from '../context.js';
import { untilStopped } from '../until-stopped.js';
import type { Claim } from './claim.js';
import type { Claimed } from './claimed.js';
import { isConfirmed } from './decide.js';
import { watch } from './history/watch.js';
import { openCall } from './pulse.js';
import { readHeld } from './read-held.js';
import { recordFailure } from './record-failure.js';
import { recordLate } from './record-late.js';
import { type Called, recordResults } from './record-results.js';
import { recordWithMove } from './record-with-move.js';

/**
 * How often a record is attempted while the database is not reachable, and the pause between two attempts, in
 * milliseconds.
 */
const patience = { tries: 60, pause: 1_000 };

/**
 * Makes the provider match the rows for entitlements that this process has claimed: calls, reads back, records. The
 * calls run in parallel and none waits for another: a result is recorded as soon as it exists, together with other
 * results of this process. An error of a call is recorded, and the call is retried later; a revoke never gives up.
 * `called` is called for each claim with a call, when its system is no longer needed; `settled` is called for every
 * claim, when nothing is left to do for it. An error of a claim is logged, not thrown: the claim is due again when its
 * lease ends.
 */
export async function performClaims(
  ctx: Context,
  claims: readonly Claim[],
  { called = () => {}, settled = () => {} }: { called?: (claim: Claim) => void; settled?: (claim: Claim) => void } = {},
): Promise<void> {
  const follow = async (claim: Claim): Promise<void> => {
    if (claim.task === 'rest') return;
    const outcome = await callProvider(ctx, claim);
    called(claim);
    if (outcome === 'too late') return release(ctx, claim);
    await recordPatiently(ctx, outcome);
  };
  const following = claims.map((claim) =>
    follow(claim)
      .catch((error: unknown) =>
        ctx.log.error(
          { entitlement: claim.id, provider: claim.provider, error },
          'a claimed call could not be made or recorded; it is due again when its lease ends',
        ),
      )
      .finally(() => settled(claim)),
  );
  await Promise.all(following);
}

type Failed = { claim: Claimed; error: unknown; overtaken: boolean };
type Outcome = Called | Failed;

/** Calls the provider and reads back what it holds now (R6). Makes no call when too little of the lease is left. */
async function callProvider(ctx: Context, claim: Claimed): Promise<Outcome | 'too late'> {
  // A call that continues although it was aborted may take effect after others have checked: then the access is checked
  // again.
  const late = () =>
    void recordLate(ctx, claim).catch((error: unknown) =>
      ctx.log.error({ entitlement: claim.id, provider: claim.provider, error }, 'a late call could not be recorded'),
    );
  const call = openCall(ctx, [claim.provider]);
  try {
    const perform = () => callWithin(ctx, claim, call.signal);
    const ask = claim.task === 'revoke' ? () => urgently(perform) : perform;
    const outcome = await tracedCall(claim, () => untilStopped(ask(), call.signal, late));
    if (outcome !== 'too late') call.answered();
    return outcome;
  } catch (error) {
    // A provider with a running operation has responded.
    if (error instanceof Pending) call.answered();
    else call.failed(error);
    // A call whose connection was lost, or that found another name, is repeated immediately once; after that, it waits for its pause.
    const once = claim.failures === 0 && (call.lostAlone() || error instanceof Renamed);
    return { claim, error, overtaken: call.overtaken() || once };
  } finally {
    call.close();
  }
}

/** Calls a provider in a span of the trace of the execution that waits for it. */
function tracedCall<T>({ id, task, provider, concern }: Claimed, ask: () => Promise<T>): Promise<T> {
  const attributes = { 'belay.provider': provider, 'belay.entitlement.id': id };
  return traced({ name: `provider ${task}`, executionId: concern?.executionId, client: true, attributes }, ask);
}

async function callWithin(ctx: Context, claim: Claimed, signal: AbortSignal): Promise<Called | 'too late'> {
  const { authorizer, position } = watch(ctx, claim.provider, authorizerOf(ctx, claim.provider, claim.task), claim);
  const { id, pin, names, name, generation } = claim;
  const entitlement = { id, pin, names, ...(generation === null ? {} : { generation }) };
  // A call that could outlast the lease would run beside the next worker's call, so it is not started.
  if (ctx.clock().getTime() - claim.claimingAt > ctx.timing.lease - ctx.timing.callTimeout) return 'too late';
  const neverLate = authorizer.neverLate === true;
  try {
    if (claim.task === 'grant') await authorizer.ensurePresent({ ...entitlement, name }, claim.until, signal);
    else await authorizer.ensureAbsent(entitlement, signal);
  } catch (error) {
    // Belay's part is gone. What is left stays by the decision of an operator, who has seen exactly this.
    const left = leftToOthers(error);
    if (left === null || left !== claim.accepted) throw error;
    return { claim, held: false, neverLate, position: position() };
  } finally {
    // A call that threw may have begun an operation, or have taken effect.
    ctx.crashpoint(`${claim.task} called`);
  }
  // The state that the provider reports now counts, not the return of the call; an unknown state settles nothing.
  const held = await readHeld(authorizer, entitlement, signal);
  return { claim, held, neverLate, position: position() };
}

/**
 * Records the result of a call, and keeps trying while the database is not reachable: only this process knows the
 * result of a call that finished after its lease (decision 0032). Each attempt is safe, because the fence is compared
 * under the lock.
 */
async function recordPatiently(ctx: Context, outcome: Outcome): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      // An earlier attempt may have been committed although its response was lost.
      if (tries === 1 || !(await isRecorded(ctx, outcome.claim))) await record(ctx, outcome);
      return;
    } catch (error) {
      if (tries >= patience.tries || !isOutage(error)) throw error;
      await ctx.delay(patience.pause);
    }
  }
}

/** Records a result: with the next move of the execution that waits for it if possible, otherwise in a group with other results. */
async function record(ctx: Context, outcome: Outcome): Promise<void> {
  const { claim } = outcome;
  if ('error' in outcome) return recordFailure(ctx, claim, publicMessage(outcome.error), outcome);
  if (!isConfirmed(claim.task, outcome.held)) return recordFailure(ctx, claim, denied[claim.task]);
  if (await recordWithMove(ctx, outcome)) return;
  const { ids, woken } = await recordBeside[claim.task](ctx.waker, { ctx, called: outcome });
  return ids.has(claim.id) ? woken : recordLate(ctx, claim);
}

/** The error of a call that returned without an effect (R6). */
const denied = {
  grant: 'The provider confirmed the grant, but does not hold the access',
  revoke: 'The provider confirmed the revocation, but still holds the access',
};

interface Recording {
  ctx: Context;
  called: Called;
}

/** Records confirmed calls of this process together, grants and revocations in separate commits. */
const recordBeside = { revoke: recordingOf('revoke'), grant: recordingOf('grant') };

function recordingOf(task: Claimed['task']) {
  return inGroups(
    async (group: readonly [Recording, ...Recording[]], hurried) => {
      const [{ ctx }] = group;
      const calls = group.map(({ called }) => called);
      const recorded = await recordResults(ctx, task, calls, hurried);
      return group.map(() => recorded);
    },
    // The result names entitlements, not fences: two calls for one entitlement in a group would take each other's result.
    ({ called }) => [called.claim.id],
  );
}

/** Returns whether the result of a claim is already recorded: its fence is the latest, and its lease was released. */
async function isRecorded(ctx: Context, claim: Claimed): Promise<boolean> {
  const [row] = await ctx.db
    .select({ id: entitlements.id })
    .from(entitlements)
    .where(and(eq(entitlements.id, claim.id), eq(entitlements.fence, claim.fence), isNull(entitlements.leaseUntil)));
  return row !== undefined;
}

/** Releases a claim that is too old to act on; the next claim has a whole lease. */
async function release(ctx: Context, claim: Claimed): Promise<void> {
  ctx.log.warn(
    { entitlement: claim.id, provider: claim.provider },
    `too little of the lease is left for the ${claim.task} call`,
  );
  const released = await ctx.db
    .update(entitlements)
    .set({ leaseUntil: null, dueAt: sql`app_now()` })
    .where(and(eq(entitlements.id, claim.id), eq(entitlements.fence, claim.fence)))
    .returning({ id: entitlements.id });
  const { id, provider, task } = claim;
  if (released.length > 0) ctx.waker.wake([{ queue: 'entitlements', entitlementId: id, provider, task }]);
}
