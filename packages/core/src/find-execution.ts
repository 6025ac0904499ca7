import { isNamed } from '@belay/contract/audience';
import { notFound } from '@belay/contract/errors';
import type { Audience } from '@belay/contract/roles';
import { approvals, decisions, executions, users } from '@belay/db';
import { and, eq } from 'drizzle-orm';
import type { Actor, Store } from './context.js';
import { seesEveryRequest } from './people/oversight.js';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Returns whether a text has the form of an id. No row has another text as its id, and a query for one could fail. */
export function isId(text: string): boolean {
  return uuid.test(text);
}

export type Sight = 'owner' | 'approver' | 'overseer' | 'operator';

/**
 * Returns an execution that the caller may see, and their relation to it: its owner; an approver, who decided or whom
 * an approval names; an overseer, who may see it and not change it (an administrator, an auditor, or a person who is
 * told of an emergency or reviews it); or an operator. Throws `not_found` for all others, so that guessing an id
 * reveals nothing.
 */
export async function findExecution(ctx: Store, actor: Actor, id: string) {
  const [row] = isId(id)
    ? await ctx.db
        .select({ execution: executions, owner: { email: users.email, name: users.name } })
        .from(executions)
        .innerJoin(users, eq(users.id, executions.ownerId))
        .where(eq(executions.id, id))
    : [];
  const sight = row ? await sightOf(ctx, actor, row.execution) : null;
  if (!row || !sight) throw notFound('The execution');
  return { ...row, sight };
}

async function sightOf(
  ctx: Store,
  actor: Actor,
  { id, ownerId, input }: Pick<typeof executions.$inferSelect, 'id' | 'ownerId' | 'input'>,
): Promise<Sight | null> {
  if (actor.kind === 'operator') return 'operator';
  if (actor.kind !== 'user') return null;
  if (actor.id === ownerId) return 'owner';
  const asked = await ctx.db.select({ rule: approvals.rule }).from(approvals).where(eq(approvals.executionId, id));
  if (asked.some((approval) => isNamed(actor, approval.rule)) || (await hasDecided(ctx, actor.id, id)))
    return 'approver';
  const { break_glass: told } = input as { break_glass?: Audience & { review?: Audience } };
  const watches = [told, told?.review].some((audience) => audience !== undefined && isNamed(actor, audience));
  return watches || seesEveryRequest(ctx, actor) ? 'overseer' : null;
}

/** Returns whether a person decided on an execution. They may still see it after they have left the group of its approvers. */
async function hasDecided(ctx: Store, userId: string, executionId: string): Promise<boolean> {
  const [made] = await ctx.db
    .select({ id: decisions.approvalId })
    .from(decisions)
    .innerJoin(approvals, eq(approvals.id, decisions.approvalId))
    .where(and(eq(approvals.executionId, executionId), eq(decisions.approverId, userId)))
    .limit(1);
  return made !== undefined;
}
