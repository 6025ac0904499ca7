import { executions, sqlText, steps } from '@belay/db';
import type { Json } from '@belay/workflow';
import { and, asc, eq, isNull, lte, ne, or, type SQL, sql } from 'drizzle-orm';
import type { ClaimedCall, EngineContext, EngineStore } from '../ports.js';
import { callName, callWith } from '../request.js';
import { claiming, claimText } from './lost-claims.js';
import { besideExecution, readBeside } from './snapshot.js';

/** Returns up to `limit` steps that are due now, or will be at `until`, the longest due first. */
export async function findDueSteps(
  ctx: EngineStore,
  limit: number,
  until: SQL = sql`app_now()`,
): Promise<{ executionId: string; key: string; dueAt: Date }[]> {
  const found = await ctx.db
    .select({ executionId: steps.executionId, key: steps.key, dueAt: steps.dueAt })
    .from(steps)
    .where(
      and(
        eq(steps.status, 'open'),
        ne(steps.kind, 'event'),
        lte(steps.dueAt, until),
        or(isNull(steps.leaseUntil), lte(steps.leaseUntil, sql`app_now()`)),
      ),
    )
    .orderBy(asc(steps.dueAt))
    .limit(limit);
  return found.map(({ dueAt, ...step }) => ({ ...step, dueAt: dueAt ?? new Date(0) }));
}

/**
 * Takes the lease of a due call, in one statement. Returns null when there is nothing to claim, because another
 * process has it, it is not due, or it is done. The returned attempt number is the fence of everything that the call
 * writes (docs/architecture.md, section 5).
 */
export async function claimCall(ctx: EngineContext, executionId: string, key: string): Promise<ClaimedCall | null> {
  const claimId = ctx.newId();
  const [row] = await claiming(ctx, [claimId], () => claim(ctx, executionId, key, claimId));
  if (!row) return null;
  ctx.crashpoint('step claimed');
  return claimedCall(ctx, { executionId, key, claimId, ...row, beside: readBeside(row.beside) });
}

async function claim(ctx: EngineContext, executionId: string, key: string, claimId: string) {
  return ctx.db
    .update(steps)
    .set({
      attempt: sql`${steps.attempt} + 1`,
      leaseUntil: sql`app_now() + ${`${ctx.timing.lease} milliseconds`}::interval`,
      claim: claimText(claimId, sqlText`(${steps.attempt} + 1)`).getSQL(),
    })
    .from(executions)
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
      beside: sql<string | null>`${besideExecution(ctx)}`,
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
  beside: unknown;
}

/** Returns a claimed call as its function receives it. */
export function claimedCall(ctx: EngineContext, row: ClaimedRow): ClaimedCall {
  const { executionId, key, claimId, attempt, workflow, ownerId, request, input, beside } = row;
  return {
    executionId,
    key,
    claimIds: [claimId],
    attempt,
    name: callName(request),
    with: callWith(request),
    workflow,
    input: ctx.host.inputNow(ctx, input as Json, beside),
    ownerId,
  };
}
