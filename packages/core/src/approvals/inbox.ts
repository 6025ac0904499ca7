import { approvals, decisions, executions, users } from '@belay/db';
import { foldAddress } from '@belay/providers';
import { formatDuration, type Json } from '@belay/workflow';
import { and, asc, eq, gt, isNull, sql } from 'drizzle-orm';
import type { Aftermath } from '../access/aftermath.js';
import { requireUser } from '../actor.js';
import type { ActorContext } from '../context.js';
import type { PlannedGrant } from '../elevation/plan.js';
import { listSelves } from '../logins/selves.js';
import { namesOf } from './exclusion.js';

export interface InboxItem {
  id: string;
  execution_id: string;
  requester: { email: string; name: string };
  role: string;
  reason: string;
  /** ISO 8601. */
  duration: string;
  providers: string[];
  /** Exactly what will be granted; the digest is of this. */
  grants: ({ provider: string; identity: string; access: Json } & Aftermath)[];
  request_digest: string;
  created_at: string;
  expires_at: string;
  /** How many approvals it takes, and how many there are. */
  count: number;
  decisions: number;
}

export interface ApprovalSubject {
  role: string;
  reason: string;
  duration: number;
  requester: { email: string; name: string };
  grants: PlannedGrant[];
}

/** What waits for the caller's decision: open, not expired, not their own, and not answered by them yet; oldest first. */
export async function listInbox(ctx: ActorContext): Promise<{ approvals: InboxItem[] }> {
  const user = requireUser(ctx);
  const selves = await listSelves(ctx.db, user.id);
  const ids = sql.param(JSON.stringify([user.id, ...selves.map(({ id }) => id)]));
  const names = sql.param(JSON.stringify(namesOf(selves)));
  const email = foldAddress(user.email) ?? '';
  const groups = sql.param(JSON.stringify(user.groups));
  const rows = await ctx.db
    .select({
      approval: approvals,
      made: sql<number>`(select count(*)::int from ${decisions} where ${decisions.approvalId} = ${approvals.id} and ${decisions.verdict} = 'approve')`,
    })
    .from(approvals)
    .innerJoin(executions, eq(executions.id, approvals.executionId))
    .innerJoin(users, eq(users.id, executions.ownerId))
    .where(
      and(
        eq(approvals.status, 'open'),
        gt(approvals.expiresAt, sql`app_now()`),
        isNull(executions.endedAt),
        sql`not exists (select 1 from jsonb_array_elements_text(${approvals.excluded}) barred
          where barred in (select jsonb_array_elements_text(${names}::jsonb)))`,
        sql`${executions.ownerId}::text not in (select jsonb_array_elements_text(${ids}::jsonb))`,
        sql`(exists (select 1 from jsonb_array_elements_text(${approvals.rule} -> 'users') named where named = ${email})
          or exists (select 1 from jsonb_array_elements_text(${approvals.rule} -> 'groups') named
            where named in (select jsonb_array_elements_text(${groups}::jsonb))))`,
        sql`not exists (select 1 from ${decisions} where ${decisions.approvalId} = ${approvals.id} 
          and ${decisions.approverId}::text in (select jsonb_array_elements_text(${ids}::jsonb)))`,
      ),
    )
    .orderBy(asc(approvals.createdAt))
    .limit(500);
  return { approvals: rows.map(({ approval, made }) => describe(approval, made)) };
}

function describe(row: typeof approvals.$inferSelect, made: number): InboxItem {
  const subject = row.subject as ApprovalSubject;
  return {
    id: row.id,
    execution_id: row.executionId,
    requester: subject.requester,
    role: subject.role,
    reason: subject.reason,
    duration: formatDuration(subject.duration),
    providers: [...new Set(subject.grants.map((grant) => grant.provider))],
    grants: subject.grants.map(({ provider, identity, access, residual, leavesBehind }) => ({
      provider,
      identity,
      access: access as Json,
      residual,
      // Approvals of before say nothing of it.
      leaves_behind: leavesBehind ?? null,
    })),
    request_digest: row.requestDigest,
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    count: row.rule.count,
    decisions: made,
  };
}
