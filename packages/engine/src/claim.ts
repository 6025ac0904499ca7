import { executions, sqlText, steps, userIdentities } from '@belay/db';
import { and, eq, isNull, lte, or, sql } from 'drizzle-orm';
import type { Context } from '../../context.js';
import type { ElevationInput } from '../../elevation/input.js';
import type { ClaimedCall } from '../../functions/function.js';
import { passingGroups, unmetCondition } from '../../logins/admission.js';
import { claiming, claimText } from './lost-claims.js';
import { callName, callWith } from './request.js';

/**
 * Takes the lease of a call that is due, in one statement; null when there is nothing to claim, because somebody else has
 * it, it is not due, or it is done. The attempt number it answers is the fence of whatever the call leads to (design §5.3).
 */
export async function claimCall(ctx: Context, executionId: string, key: string): Promise<ClaimedCall | null> {
  const claimId = ctx.newId();
  const [row] = await claiming(ctx, [claimId], () => claim(ctx, executionId, key, claimId));
  if (!row) return null;
  ctx.crashpoint('step claimed');
  return claimedCall(ctx, { executionId, key, claimId, ...row });
}

async function claim(ctx: Context, executionId: string, key: string, claimId: string) {
  return ctx.db
    .update(steps)
    .set({
      attempt: sql`${steps.attempt} + 1`,
      leaseUntil: sql`app_now() + ${`${ctx.timing.lease} milliseconds`}::interval`,
      claim: claimText(claimId, sqlText`(${steps.attempt} + 1)`).getSQL(),
    })
    .from(executions)
    .leftJoin(
      userIdentities,
      and(
        eq(userIdentities.userId, executions.ownerId),
        eq(userIdentities.provider, sql`${executions.input} #>> '{user,provider}'`),
        eq(userIdentities.subject, sql`${executions.input} #>> '{user,subject}'`),
      ),
    )
    .where(
      and(
        eq(steps.executionId, executionId),
        eq(steps.key, key),
        eq(steps.kind, 'call'),
        eq(steps.status, 'open'),
        isNull(steps.outcomeAt),
        lte(steps.dueAt, sql`app_now()`),
        or(isNull(steps.leaseUntil), lte(steps.leaseUntil, sql`app_now()`)),
        eq(executions.id, steps.executionId),
      ),
    )
    .returning({
      request: steps.request,
      attempt: steps.attempt,
      workflow: executions.workflow,
      input: executions.input,
      ownerId: executions.ownerId,
      email: userIdentities.email,
      groups: userIdentities.groups,
      organizations: userIdentities.organizations,
    });
}

interface ClaimedRow {
  executionId: string;
  key: string;
  claimId: string;
  request: unknown;
  attempt: number;
  workflow: string;
  input: unknown;
  ownerId: string;
  email: string | null;
  groups: string[] | null;
  organizations: string[] | null;
}

/** A claimed call as its function is given it. */
export function claimedCall(ctx: Context, row: ClaimedRow): ClaimedCall {
  const input = row.input as ElevationInput;
  const { executionId, key, claimId, attempt, workflow, ownerId, email, groups, organizations } = row;
  const now = {
    provider: input.user.provider,
    email: email ?? '',
    groups: groups ?? [],
    organizations: organizations ?? [],
  };
  const catalog = ctx.catalog.current();
  const admitted = unmetCondition(catalog, now) === undefined;
  return {
    executionId,
    key,
    claimIds: [claimId],
    attempt,
    name: callName(row.request),
    with: callWith(row.request),
    workflow,
    // Who they are now, by the identity they asked under: somebody who has left a group since has left its rights, and an
    // identity without a user, or one that may not sign in any more, has none (design §16, access.validate).
    input: {
      ...input,
      user: { ...input.user, email: admitted ? now.email : '', groups: admitted ? passingGroups(catalog, now) : [] },
    },
    ownerId,
  };
}
