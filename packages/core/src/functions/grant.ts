import { AccessError } from '@belay/contract/errors';
import { entitlements, grants, type Transaction } from '@belay/db';
import {
  advanceStep,
  type CallFunction,
  communicationFault,
  type Locked,
  type Performed,
  type Progress,
  parked,
  waitOn,
} from '@belay/engine';
import type { Json } from '@belay/workflow';
import { and, eq, sql } from 'drizzle-orm';
import { endGrants } from '../access/end.js';
import { intendGrants } from '../access/intend.js';
import { reconcileEntitlement } from '../access/reconcile.js';
import { isNotLapsed, isOver } from '../access/wanted.js';
import { approvalLifetime, readCurrentApprovals } from '../approvals/current.js';
import { confirmApprovals, refuseOwnApprovers } from '../approvals/judge.js';
import { settleApprovals } from '../approvals/settle.js';
import { grantWith } from '../configuration/function-checks.js';
import type { Context } from '../context.js';
import { requireDuration } from '../duration.js';
import type { ElevationCall, ElevationInput } from '../plans/input.js';
import { planElevation } from '../plans/plan.js';
import { askAgain } from './ask-again.js';

/**
 * `access.grant`: intends the grants (R1, R2), and resolves when it is verified that the providers hold them all (R6).
 */
export const grant = {
  joins: true,
  asks: (call: ElevationCall) => call.input.providers,
  async perform(ctx: Context, call: ElevationCall, signal: AbortSignal): Promise<Performed> {
    // The intent and the parking are one transaction, so only a repeated call can find an intent.
    if (call.attempt > 1 && (await hasIntent(ctx, call))) return lookAgain(ctx, call);
    const { version } = ctx.catalog.current();
    const plan = await planElevation(ctx, { ...call, input: shortened(call) }, signal);
    const lifetime = approvalLifetime(ctx.catalog.current(), call.input);
    // Before its first move an execution has no approvals.
    const asked = call.pending?.version === 0 ? null : await askAgain(ctx, call, { plan, lifetime });
    if (asked && 'performed' in asked) return asked.performed;
    const refused = asked && (await refuseOwnApprovers(ctx, asked.approved, plan));
    if (refused) return { kind: 'outcome', outcome: refused.refusal };
    const intention = {
      executionId: call.executionId,
      stepKey: call.key,
      attempt: call.attempt,
      plan,
      catalogVersion: version,
      userId: call.ownerId,
      actor: { kind: 'system' as const, name: 'access.grant' },
      approved: asked?.approved,
      confirm: confirmApprovals(call.executionId, lifetime, plan, asked?.approved),
    };
    let intended = await intendGrants(ctx, { ...intention, pending: call.pending }, signal);
    call.pending = undefined;
    // The access may have been Belay's own, and revoked since it was read. A second read shows whether it is still
    // held.
    if (intended.outcome === 'held_outside') intended = await intendGrants(ctx, intention, signal);
    if (intended.outcome === 'held_outside') {
      const { identity, provider, again } = intended;
      const message = again
        ? `${identity} holds this access at ${provider} again, after it was read there as removed: it was given outside this service`
        : `${identity} already holds this access at ${provider} outside this service`;
      throw new AccessError('held_outside', message);
    }
    if (intended.outcome === 'other_degree') {
      const { provider, held } = intended;
      const what = Object.values(held.access).map(String).join(' ');
      throw new AccessError(
        'conflict',
        `${held.identity} has ${what} at ${provider} by another request, and can have one degree of this access at a time: end that access first`,
      );
    }
    if (intended.outcome === 'cancelled') throw new AccessError('forbidden', 'The request was cancelled');
    if (intended.outcome === 'not_approved') return { kind: 'outcome', outcome: intended.refusal };
    // The approval ended while the provider was called: start again.
    if (intended.outcome === 'lapsed') return { kind: 'again', after: 0, because: 'its approval' };
    // Without places of its own, this worker continues here instead of sending itself a job; if it stops, the rows are
    // due.
    if (intended.outcome === 'intended' && !ctx.waker.reserve) {
      await Promise.all(intended.entitlementIds.map((entitlementId) => reconcileEntitlement(ctx, { entitlementId })));
    }
    return parked;
  },
  progress: settleGrants,
} satisfies CallFunction;

async function hasIntent(ctx: Context, call: ElevationCall): Promise<boolean> {
  const [existing] = await ctx.db
    .select({ id: grants.id })
    .from(grants)
    .where(and(eq(grants.executionId, call.executionId), eq(grants.stepKey, call.key), isNotLapsed))
    .limit(1);
  return existing !== undefined;
}

/**
 * Handles a repeated call, whose intent is stored: checks whether its grants are settled, and otherwise keeps waiting.
 */
async function lookAgain(ctx: Context, call: ElevationCall): Promise<Performed> {
  await waitOn(ctx.db, call, { after: ctx.timing.lease, release: true });
  ctx.crashpoint('looked again');
  await advanceStep(ctx, call.executionId, call.key);
  return parked;
}

/** Limits the duration: a workflow may grant for less than was requested, never for more. */
function shortened(call: ElevationCall): ElevationCall['input'] {
  const settings = grantWith.safeParse(call.with ?? {});
  if (!settings.success) throw new AccessError('invalid', 'access.grant: "duration" is not a valid ISO 8601 duration');
  const { duration } = settings.data;
  if (duration === undefined) return call.input;
  const asked = requireDuration(call.input.duration, 'duration');
  return requireDuration(duration, 'duration') < asked ? { ...call.input, duration } : call.input;
}

/** Returns the outcome of a step when all its grants are active, or when one of them can no longer become active; otherwise null. */
async function settleGrants(ctx: Context, tx: Transaction, execution: Locked, key: string): Promise<Progress | null> {
  const rows = await tx
    .select({
      provider: entitlements.provider,
      identity: grants.identity,
      access: grants.access,
      lastError: entitlements.lastError,
      activatedAt: grants.activatedAt,
      expiresAt: grants.expiresAt,
      endedReason: grants.endedReason,
      over: sql<boolean>`${isOver}`,
    })
    .from(grants)
    .innerJoin(entitlements, eq(entitlements.id, grants.entitlementId))
    .where(and(eq(grants.executionId, execution.id), eq(grants.stepKey, key), isNotLapsed))
    .orderBy(entitlements.key);
  if (rows.length === 0) return settleApprovals(ctx, tx, execution, key);
  const lost = rows.find((row) => row.over && row.activatedAt === null);
  if (lost && rows.every((row) => row.endedReason === null) && (await hasLapsed(ctx, tx, execution))) {
    await lapse(tx, execution, key);
    return null;
  }
  if (lost) {
    // All or nothing: what was granted elsewhere for this step is revoked.
    const jobs = await endGrants(tx, {
      executionId: execution.id,
      stepKeys: [key],
      reason: 'failed',
      actor: { kind: 'system', name: 'access.grant' },
    });
    const detail = `${lost.provider}: ${lost.lastError ?? 'the provider was not reached in time'}`;
    return { outcome: { ok: false, fault: communicationFault(502, 'The access could not be granted', detail) }, jobs };
  }
  const active = rows.flatMap((row) => {
    const { activatedAt, expiresAt } = row;
    return activatedAt && expiresAt ? [{ ...row, activatedAt, expiresAt }] : [];
  });
  if (active.length < rows.length) {
    const first = rows.find((row) => row.activatedAt === null);
    const waitingFor = first?.lastError
      ? `the provider ${first.provider}: ${first.lastError}`
      : `the provider ${first?.provider}`;
    await waitOn(tx, { executionId: execution.id, key }, { waitingFor });
    return null;
  }
  const started = Math.max(...active.map((row) => row.activatedAt.getTime()));
  const expires = Math.min(...active.map((row) => row.expiresAt.getTime()));
  const value: Json = {
    granted_at: new Date(started).toISOString(),
    expires_at: new Date(expires).toISOString(),
    grants: active.map(({ provider, identity, access, expiresAt }) => ({
      provider,
      identity,
      access: access as Json,
      expires_at: expiresAt.toISOString(),
    })),
  };
  return { outcome: { ok: true, value } };
}

async function hasLapsed(ctx: Context, tx: Transaction, execution: Locked): Promise<boolean> {
  const lifetime = approvalLifetime(ctx.catalog.current(), execution.input as ElevationInput);
  const { current } = await readCurrentApprovals(tx, execution.id, lifetime);
  return current.some(({ lapsed }) => lapsed);
}

/**
 * Handles an approval that ended before the provider held the access: ends the grants as lapsed and repeats the step, which requests
 * approval again.
 */
async function lapse(tx: Transaction, execution: Locked, key: string): Promise<void> {
  await endGrants(tx, {
    executionId: execution.id,
    stepKeys: [key],
    reason: 'lapsed',
    over: true,
    actor: { kind: 'system', name: 'access.grant' },
  });
  const waitingFor = 'a new approval: the earlier one expired before the provider granted';
  await waitOn(tx, { executionId: execution.id, key }, { waitingFor, after: 0 });
}
