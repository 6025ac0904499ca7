import { isNamed } from '@belay/contract/audience';
import { notFound } from '@belay/contract/errors';
import type { Audience } from '@belay/contract/roles';
import { type ApprovalRule, approvals, decisions, execute, executions, sqlText, users } from '@belay/db';
import { eq } from 'drizzle-orm';
import type { Actor, Store } from './context.js';
import { seesEveryRequest } from './people/oversight.js';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Returns whether a text has the form of an id. No row has another text as its id, and a query for one could fail. */
export function isId(text: string): boolean {
  return uuid.test(text);
}

export type Sight = 'owner' | 'approver' | 'overseer' | 'operator';

/**
 * Returns an execution that the caller may see, and their relation to it (`sightOf`). Throws `not_found` for all others, so that
 * guessing an id reveals nothing.
 */
export async function findExecution(ctx: Store, actor: Actor, id: string) {
  const [row] = isId(id)
    ? await ctx.db
        .select({ execution: executions, owner: { email: users.email, name: users.name } })
        .from(executions)
        .innerJoin(users, eq(users.id, executions.ownerId))
        .where(eq(executions.id, id))
    : [];
  const approvers =
    actor.kind === 'user' && row && row.execution.ownerId !== actor.id ? await readApprovers(ctx, id) : [];
  const sight = row && sightOf(ctx, actor, row.execution, approvers);
  if (!row || !sight) throw notFound('The execution');
  return { ...row, sight };
}

/** The rule of an approval, and the ids of those who decided. */
interface Approvers {
  rule: ApprovalRule;
  deciders: readonly string[];
}

/**
 * Returns the relation of a caller to an execution with these approvals: its owner; an approver, whom an approval names or who decided,
 * also after they have left the group of its approvers; an overseer, who may see it and not change it (an administrator, an auditor, or
 * a person who is told of an emergency or reviews it); or an operator. Returns null for all others, who may not see it.
 */
export function sightOf(
  ctx: Store,
  actor: Actor,
  { ownerId, input }: { ownerId: string; input: unknown },
  approvals: readonly Approvers[],
): Sight | null {
  if (actor.kind === 'operator') return 'operator';
  if (actor.kind !== 'user') return null;
  if (actor.id === ownerId) return 'owner';
  if (approvals.some(({ rule, deciders }) => isNamed(actor, rule) || deciders.includes(actor.id))) return 'approver';
  const { break_glass: told } = input as { break_glass?: Audience & { review?: Audience } };
  const watches = [told, told?.review].some((audience) => audience !== undefined && isNamed(actor, audience));
  return watches || seesEveryRequest(ctx, actor) ? 'overseer' : null;
}

async function readApprovers(ctx: Store, executionId: string): Promise<Approvers[]> {
  const rows = await execute<{ rule: ApprovalRule; deciders: string[] | null }>(
    ctx.db,
    sqlText`
    select a.rule, (select json_agg(d.approver_id) from ${decisions} d where d.approval_id = a.id) as deciders
    from ${approvals} a where a.execution_id = ${executionId}::uuid`,
  );
  return rows.map(({ rule, deciders }) => ({ rule, deciders: deciders ?? [] }));
}
