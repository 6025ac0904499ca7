import { grants, steps } from '@belay/db';
import { advanceStep, type CallFunction, type Performed, parked } from '@belay/engine';
import { and, eq, sql } from 'drizzle-orm';
import { intendGrants } from '../access/intend.js';
import { reconcileEntitlement } from '../access/reconcile.js';
import { isNotLapsed } from '../access/wanted.js';
import { approvalLifetime } from '../approvals/current.js';
import { confirmApprovals } from '../approvals/judge.js';
import type { Context } from '../context.js';
import { requireDuration } from '../duration.js';
import type { ElevationCall } from '../elevation/input.js';
import { planElevation } from '../elevation/plan.js';
import { AccessError } from '../errors.js';
import { readOwner } from '../logins/owner.js';
import { askAgain } from './ask-again.js';
import { grantWith } from './checks.js';

/** `access.grant`: intends the grants (R1, R2), and resolves when the provider was seen to hold them all (R6). */
export const grant = {
  // What was asked of approvers is looked up under the step that is open, so then it has to be.
  joins: (beside: unknown) => !readOwner(beside).asked,
  asks: (call: ElevationCall) => call.input.providers,
  async perform(ctx: Context, call: ElevationCall, signal: AbortSignal): Promise<Performed> {
    // The intent and the parking are one transaction: only a call that is made again can have one.
    if (call.attempt > 1 && (await hasIntent(ctx, call))) return lookAgain(ctx, call);
    const { version } = ctx.catalog.current();
    const plan = await planElevation(ctx, { ...call, input: shortened(call) }, signal);
    const lifetime = approvalLifetime(ctx.catalog.current(), call.input);
    // A call whose move is still to be written has nobody that was asked; the intent looks again, under the lock.
    const waits = call.pending ? null : await askAgain(ctx, call, { plan, lifetime }, signal);
    if (waits) return waits;
    const intention = {
      executionId: call.executionId,
      stepKey: call.key,
      attempt: call.attempt,
      plan,
      catalogVersion: version,
      userId: call.ownerId,
      actor: { kind: 'system' as const, name: 'access.grant' },
      confirm: confirmApprovals(call.executionId, lifetime, plan),
    };
    let intended = await intendGrants(ctx, { ...intention, pending: call.pending }, signal);
    call.pending = undefined;
    // What was held may have been our own access, revoked since it was observed: a second look tells.
    if (intended.outcome === 'held_outside') intended = await intendGrants(ctx, intention, signal);
    if (intended.outcome === 'held_outside') {
      throw new AccessError(
        'held_outside',
        `${intended.identity} holds this at ${intended.provider} already, outside this service`,
      );
    }
    if (intended.outcome === 'cancelled') throw new AccessError('forbidden', 'The request was cancelled');
    if (intended.outcome === 'not_approved') return { kind: 'outcome', outcome: intended.refusal };
    // It ended while the provider was asked: once more, from the beginning.
    if (intended.outcome === 'lapsed') return { kind: 'again', after: 0, because: 'its approval' };
    // Without places of its own, this worker goes on here instead of sending itself a hint; should it die, the rows are due.
    if (intended.outcome === 'intended' && !ctx.waker.reserve) {
      await Promise.all(intended.entitlementIds.map((entitlementId) => reconcileEntitlement(ctx, { entitlementId })));
    }
    return parked;
  },
} satisfies CallFunction;

async function hasIntent(ctx: Context, call: ElevationCall): Promise<boolean> {
  const [existing] = await ctx.db
    .select({ id: grants.id })
    .from(grants)
    .where(and(eq(grants.executionId, call.executionId), eq(grants.stepKey, call.key), isNotLapsed))
    .limit(1);
  return existing !== undefined;
}

/** A repeat: the intent stands, so look whether it is done, and otherwise wait on. */
async function lookAgain(ctx: Context, call: ElevationCall): Promise<Performed> {
  await ctx.db
    .update(steps)
    .set({ leaseUntil: null, failures: 0, dueAt: sql`app_now() + ${`${ctx.timing.lease} milliseconds`}::interval` })
    .where(
      and(
        eq(steps.executionId, call.executionId),
        eq(steps.key, call.key),
        eq(steps.attempt, call.attempt),
        eq(steps.status, 'open'),
      ),
    );
  ctx.crashpoint('looked again');
  await advanceStep(ctx, call.executionId, call.key);
  return parked;
}

/** A workflow may grant for less than was asked, never for more. */
function shortened(call: ElevationCall): ElevationCall['input'] {
  const settings = grantWith.safeParse(call.with ?? {});
  if (!settings.success) throw new AccessError('invalid', 'access.grant has a duration that is none');
  const { duration } = settings.data;
  if (duration === undefined) return call.input;
  const asked = requireDuration(call.input.duration, 'duration');
  return requireDuration(duration, 'duration') < asked ? { ...call.input, duration } : call.input;
}
