import { approvals, grants, steps } from '@belay/db';
import type { Outcome } from '@belay/workflow';
import { and, eq, sql } from 'drizzle-orm';
import { intendGrants } from '../access/intend.js';
import { reconcileEntitlement } from '../access/reconcile.js';
import type { ApprovalSubject } from '../approvals/inbox.js';
import { digestOf } from '../canonical.js';
import type { Context } from '../context.js';
import { requireDuration } from '../duration.js';
import { type Plan, planElevation } from '../elevation/plan.js';
import { AccessError } from '../errors.js';
import { advanceStep } from '../executions/runtime/advance.js';
import { grantWith } from './checks.js';
import { NOT_APPROVED } from './faults.js';
import { type CallFunction, type ClaimedCall, type Performed, parked } from './function.js';

/** `access.grant`: intends the grants (R1, R2), and resolves when the provider was seen to hold them all (R6). */
export const grant: CallFunction = {
  async perform(ctx, call, signal) {
    // The intent and the parking are one transaction: only a call that is made again can have one.
    if (call.attempt > 1 && (await hasIntent(ctx, call))) return lookAgain(ctx, call);
    const { version } = ctx.catalog.current();
    const plan = await planElevation(ctx, { ...call, input: shortened(call) }, signal);
    const refusal = await refusalOf(ctx, call, plan);
    if (refusal) return { kind: 'outcome', outcome: refusal };
    const intention = {
      executionId: call.executionId,
      stepKey: call.key,
      attempt: call.attempt,
      plan,
      catalogVersion: version,
      userId: call.ownerId,
      actor: { kind: 'system' as const, name: 'access.grant' },
    };
    let intended = await intendGrants(ctx, intention, signal);
    // What was held may have been our own access, revoked since it was observed: a second look tells.
    if (intended.outcome === 'held_outside') intended = await intendGrants(ctx, intention, signal);
    if (intended.outcome === 'held_outside') {
      throw new AccessError(
        'held_outside',
        `${intended.identity} holds this at ${intended.provider} already, outside this service`,
      );
    }
    if (intended.outcome === 'cancelled') throw new AccessError('forbidden', 'The request was cancelled');
    if (intended.outcome === 'not_approved') {
      return { kind: 'outcome', outcome: notApproved('The request was not approved') };
    }
    // This worker goes on at once instead of sending itself a hint; should it die here, the rows are due.
    if (intended.outcome === 'intended') {
      await Promise.all(intended.entitlementIds.map((entitlementId) => reconcileEntitlement(ctx, { entitlementId })));
    }
    return parked;
  },
};

async function hasIntent(ctx: Context, call: ClaimedCall): Promise<boolean> {
  const [existing] = await ctx.db
    .select({ id: grants.id })
    .from(grants)
    .where(and(eq(grants.executionId, call.executionId), eq(grants.stepKey, call.key)))
    .limit(1);
  return existing !== undefined;
}

/** A repeat: the intent stands, so look whether it is done, and otherwise wait on. */
async function lookAgain(ctx: Context, call: ClaimedCall): Promise<Performed> {
  await ctx.db
    .update(steps)
    .set({ leaseUntil: null, dueAt: sql`app_now() + ${`${ctx.timing.lease} milliseconds`}::interval` })
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
function shortened(call: ClaimedCall): ClaimedCall['input'] {
  const settings = grantWith.safeParse(call.with ?? {});
  if (!settings.success) throw new AccessError('invalid', 'access.grant has a duration that is none');
  const { duration } = settings.data;
  if (duration === undefined) return call.input;
  const asked = requireDuration(call.input.duration, 'duration');
  return requireDuration(duration, 'duration') < asked ? { ...call.input, duration } : call.input;
}

/**
 * Fails closed, whatever the workflow's author forgot: no grant while an approval of the execution is refused, expired or
 * open, and none for anything else than what was approved.
 */
async function refusalOf(ctx: Context, call: ClaimedCall, plan: Plan): Promise<Outcome | null> {
  const asked = await ctx.db
    .select({ status: approvals.status, digest: approvals.requestDigest, subject: approvals.subject })
    .from(approvals)
    .where(eq(approvals.executionId, call.executionId));
  if (asked.some((approval) => approval.status !== 'approved')) return notApproved('The request was not approved');
  if (asked.some((approval) => !covers(approval, plan))) {
    const moved = asked.flatMap((approval) => placesMoved(approval.subject, plan));
    return notApproved(
      moved.length === 0
        ? 'What would be granted is no longer what was approved'
        : `What would be granted is no longer where it was approved: ${[...new Set(moved)].join(', ')} is another target now`,
    );
  }
  return null;
}

/** An approval covers its own content, and the same content for a shorter time. */
function covers(approval: { digest: string; subject: unknown }, plan: Plan): boolean {
  if (approval.digest === plan.digest) return true;
  const subject = approval.subject as { duration: number };
  return plan.duration <= subject.duration && samePlan(subject, plan);
}

function samePlan(subject: object, plan: Plan): boolean {
  const { digest: _digest, duration: _duration, ...rest } = plan;
  const { duration: _asked, ...approved } = subject as Record<string, unknown>;
  return digestOf(rest) === digestOf(approved);
}

/** The providers of a plan whose target is another one than was approved. */
function placesMoved(subject: unknown, plan: Plan): string[] {
  const approved = (subject as ApprovalSubject).grants;
  return plan.grants
    .filter(({ provider, pin }) => approved.some((one) => one.provider === provider && one.pin?.target !== pin.target))
    .map(({ provider }) => provider);
}

function notApproved(detail: string): Outcome {
  return { ok: false, fault: { type: NOT_APPROVED, status: 403, title: 'Not approved', detail } };
}
