import { execute, executions, type SqlText, sqlText, steps } from '@belay/db';
import type { Json } from '@belay/workflow';
import { and, eq, isNull, lte, or, sql } from 'drizzle-orm';
import type { ClaimedCall, EngineContext, EngineStore } from '../ports.js';
import { callName, callWith } from '../request.js';
import { claiming, claimText } from './lost-claims.js';
import { besideExecution, readBeside } from './snapshot.js';

/**
 * Returns the query of the steps that are due at `until`, the longest due first. The condition of `steps_due_idx` is part of the
 * text: with parameters instead, the plan that a connection keeps could not use that index, and each call would be planned.
 */
export function selectDueSteps(limit: number, until: SqlText = sqlText`app_now()`): SqlText {
  return sqlText`
    select ${steps.executionId}, ${steps.key}, ${steps.dueAt} from ${steps}
    where ${steps.status} = 'open' and ${steps.kind} <> 'event' and ${steps.dueAt} <= ${until}
      and (${steps.leaseUntil} is null or ${steps.leaseUntil} <= app_now())
    order by ${steps.dueAt} limit ${limit}`;
}

/** Returns up to `limit` steps that are due now, the longest due first. */
export async function findDueSteps(
  ctx: EngineStore,
  limit: number,
): Promise<{ executionId: string; key: string; dueAt: Date }[]> {
  const found = await execute<{ execution_id: string; key: string; due_at: string }>(ctx.db, selectDueSteps(limit));
  return found.map(({ execution_id, key, due_at }) => ({ executionId: execution_id, key, dueAt: new Date(due_at) }));
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
