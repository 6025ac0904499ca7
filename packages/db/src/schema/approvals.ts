import { sql } from 'drizzle-orm';
import { check, foreignKey, index, integer, pgTable, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant, json } from './columns.js';
import { executions } from './executions.js';
import { users } from './people.js';

export type ApprovalStatus = 'open' | 'approved' | 'denied' | 'expired' | 'withdrawn';

export interface ApprovalRule {
  /** Addresses, folded for comparison. */
  users: string[];
  groups: string[];
  count: number;
  refusals: number;
  /** Whether a person who has approved another step of the request cannot approve this one. */
  distinct?: boolean;
  /** The number of this stage among the stages of one step, from 1, and how many there are; absent when there is only one. */
  stage?: number;
  stages?: number;
}

/** A question to approvers: what is requested, who may decide, and by when. */
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
    /**
     * The names by which the accounts belonged to people when the request was planned (`namesOfAccount`).
     */
    knownAs: json<string[]>('known_as').notNull(),
    /** What is requested, as the approver sees it. */
    subject: json<unknown>('subject').notNull(),
    /** Digest of the subject; a decision carries it, and so does the grant that follows. */
    requestDigest: text('request_digest').notNull(),
    status: text('status').$type<ApprovalStatus>().notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: instant('created_at').notNull().default(appNow),
    closedAt: instant('closed_at'),
    /** The approval that this one replaces, because it ended before it was used. The step of this one is then the step that grants. */
    renews: uuid('renews'),
    /** Why approval is requested again, in words for the requester and the approvers. */
    because: text('because'),
  },
  (table) => [
    unique('approvals_are_one_per_step_and_stage').on(table.executionId, table.stepKey, table.stage),
    unique('approvals_are_renewed_once').on(table.renews),
    check('approval_is_renewed_for_a_reason', sql`(${table.renews} is null) = (${table.because} is null)`),
    index('approvals_open_idx').on(table.expiresAt).where(sql`${table.status} = 'open'`),
    index('approvals_oldest_idx').on(table.createdAt, table.expiresAt).where(sql`${table.status} = 'open'`),
    check('approval_status_is_known', sql`${table.status} in ('open', 'approved', 'denied', 'expired', 'withdrawn')`),
  ],
);

/**
 * The approvers of an open approval: one row for each address and each group of its rule, so that an inbox reads only
 * approvals of its person. A trigger on `approvals` writes the rows, and deletes them when the approval closes.
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

/** The decision of one approver; each approver decides at most once. */
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
    index('decisions_of_approver_idx').on(table.approverId, table.decidedAt, table.approvalId),
    check('decision_verdict_is_known', sql`${table.verdict} in ('approve', 'deny')`),
  ],
);

/**
 * The identity of a person at a provider at the latest check: decisions rely on it while the provider does not
 * respond.
 */
export const knownIdentities = pgTable('known_identities', {
  /** Digest of the provider, its address in the configuration, and everything by which the person was looked up. */
  key: text('key').primaryKey(),
  /** Null for a person who has no identity at the provider. */
  identity: text('identity'),
  seenAt: instant('seen_at').notNull().default(appNow),
});
