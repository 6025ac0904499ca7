import { sql } from 'drizzle-orm';
import { check, foreignKey, index, integer, pgTable, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant, json } from './columns.js';
import { executions } from './executions.js';
import { users } from './people.js';

export type ApprovalStatus = 'open' | 'approved' | 'denied' | 'expired' | 'withdrawn';

export interface ApprovalRule {
  /** Addresses, folded as they are compared. */
  users: string[];
  groups: string[];
  count: number;
  refusals: number;
}

/** A question put to approvers: what exactly is asked, who may answer, by when. */
export const approvals = pgTable(
  'approvals',
  {
    id: uuid('id').primaryKey(),
    executionId: uuid('execution_id')
      .notNull()
      .references(() => executions.id),
    stepKey: text('step_key').notNull(),
    stage: integer('stage').notNull().default(0),
    rule: json<ApprovalRule>('rule').notNull(),
    /** Addresses (folded) and names of identities that may never decide: the requester and the person to be elevated. */
    excluded: json<string[]>('excluded').notNull(),
    /** What is asked, as the approver sees it. */
    subject: json<unknown>('subject').notNull(),
    /** Digest of the subject; a decision carries it, and so does the grant that follows. */
    requestDigest: text('request_digest').notNull(),
    status: text('status').$type<ApprovalStatus>().notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: instant('created_at').notNull().default(appNow),
    closedAt: instant('closed_at'),
    /** The approval that ended before it was used, when this one asks again; its step is then the one that grants. */
    renews: uuid('renews'),
    /** Why it is asked again, in words for the requester and the approvers. */
    because: text('because'),
  },
  (table) => [
    unique('approvals_are_one_per_step_and_stage').on(table.executionId, table.stepKey, table.stage),
    unique('approvals_are_renewed_once').on(table.renews),
    check('approval_is_renewed_for_a_reason', sql`(${table.renews} is null) = (${table.because} is null)`),
    index('approvals_open_idx').on(table.expiresAt).where(sql`${table.status} = 'open'`),
    check('approval_status_is_known', sql`${table.status} in ('open', 'approved', 'denied', 'expired', 'withdrawn')`),
  ],
);

/**
 * Whom an open approval asks: a row for each address and each group of its rule, so that an inbox reads no approvals that ask
 * others. A trigger on `approvals` writes the rows and deletes them when the approval closes.
 */
export const approvalAudience = pgTable(
  'approval_audience',
  {
    kind: text('kind').$type<'user' | 'group'>().notNull(),
    name: text('name').notNull(),
    approvalId: uuid('approval_id').notNull(),
  },
  (table) => [
    primaryKey({ name: 'approval_audience_pk', columns: [table.kind, table.name, table.approvalId] }),
    index('approval_audience_approval_idx').on(table.approvalId),
  ],
);

/** One approver's answer; nobody answers twice. */
export const decisions = pgTable(
  'decisions',
  {
    approvalId: uuid('approval_id').notNull(),
    approverId: uuid('approver_id').notNull(),
    verdict: text('verdict').$type<'approve' | 'deny'>().notNull(),
    comment: text('comment'),
    requestDigest: text('request_digest').notNull(),
    via: text('via').notNull(),
    decidedAt: instant('decided_at').notNull().default(appNow),
  },
  (table) => [
    primaryKey({ name: 'decisions_pk', columns: [table.approvalId, table.approverId] }),
    foreignKey({ name: 'decisions_approval_fk', columns: [table.approvalId], foreignColumns: [approvals.id] }),
    foreignKey({ name: 'decisions_approver_fk', columns: [table.approverId], foreignColumns: [users.id] }),
    check('decision_verdict_is_known', sql`${table.verdict} in ('approve', 'deny')`),
  ],
);

/** Who a person was at a provider when it was last asked: what a decision rests on while the provider does not answer. */
export const knownIdentities = pgTable('known_identities', {
  /** Digest of the provider, where its configuration leads, and what the person was looked up by. */
  key: text('key').primaryKey(),
  /** Null for somebody who has none there. */
  identity: text('identity'),
  seenAt: instant('seen_at').notNull().default(appNow),
});
