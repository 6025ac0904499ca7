import { formatDuration } from '@belay/contract/durations';
import { verdict } from '@belay/contract/fields';
import { type ApprovalStatus, type approvals, decisions, type messages, users } from '@belay/db';
import type { Action, Fact, Message, Verdict } from '@belay/providers';
import { and, asc, eq } from 'drizzle-orm';
import { z } from 'zod';
import type { ApprovalSubject } from '../approvals/inbox.js';
import { mustDecideOnPage } from '../approvals/on-page.js';
import { stageOf } from '../approvals/subject.js';
import type { Context, Store } from '../context.js';
import { readNow } from '../now.js';
import { open, seal } from '../tokens/seal.js';
import { linkTo, placeOfApproval } from './link-to.js';

type Approval = typeof approvals.$inferSelect;

const decisionToken = z.object({ approval: z.string(), digest: z.string(), verdict });
/** What a button decides: the approval, the digest of its content, and the verdict. It permits nothing by itself. */
export type DecisionToken = z.infer<typeof decisionToken>;

export const outcomes: Record<Exclude<ApprovalStatus, 'open'>, string> = {
  approved: 'Approved',
  denied: 'Denied',
  expired: 'Expired without a decision',
  withdrawn: 'Withdrawn',
};

/** Returns the message that requests a decision, with a link to the page and a button for each verdict. */
export async function composeQuestion(
  ctx: Context,
  row: typeof messages.$inferSelect,
  approval: Approval,
): Promise<Message> {
  const subject = approval.subject as ApprovalSubject;
  const actions = [linkTo(ctx, 'View request', placeOfApproval(approval.id))];
  // No buttons where a click would be rejected.
  if (!mustDecideOnPage(ctx, subject.role)) {
    for (const verdict of verdictsOf(ctx, row.provider)) actions.push(await button(ctx, approval, verdict));
  }
  const again = approval.renews === null ? '' : ' again';
  return {
    to: row.recipient,
    kind: 'request.waiting',
    title: `A request waits for your decision${again}`,
    text: row.text ?? `${subject.requester.name} requests ${subject.role}${again}: ${subject.reason}`,
    facts: factsOf(approval),
    actions,
    idempotencyKey: row.key,
  };
}

/** Returns the verdicts that buttons in messages of a provider may have. */
export function verdictsOf(ctx: Store, provider: string): readonly Verdict[] {
  const { connector, config } = ctx.catalog.current().providers.get(provider) ?? {};
  return config === undefined ? [] : (connector?.verdicts?.(config) ?? []);
}

/** Returns the message that replaces a question that is closed: its outcome, who decided, and no buttons. */
export async function composeOutcome(
  ctx: Context,
  row: typeof messages.$inferSelect,
  approval: Approval,
): Promise<Message> {
  const subject = approval.subject as ApprovalSubject;
  const { stage, stages } = stageOf(approval.rule);
  const part = stages > 1 ? ` (stage ${stage} of ${stages})` : '';
  const outcome = `${approval.status === 'open' ? 'Open' : outcomes[approval.status]}${part}`;
  const deciders = (await listDecisions(ctx, approval)).map(({ by }) => by);
  return {
    to: row.recipient,
    title: `${outcome}: ${subject.role} for ${subject.requester.name}`,
    text: row.text ?? `${subject.requester.name} requested ${subject.role}: ${subject.reason}`,
    facts: [
      { name: 'Outcome', value: outcome },
      ...(deciders.length === 0 ? [] : [{ name: 'Decided by', value: deciders.join(', ') }]),
      ...factsOf(approval),
    ],
    actions: [linkTo(ctx, 'View request', placeOfApproval(approval.id))],
    idempotencyKey: row.key,
  };
}

/** Returns the decisions that led to the outcome: who made each, and with which comment. */
export async function listDecisions(
  ctx: Store,
  { id, status }: Pick<Approval, 'id' | 'status'>,
): Promise<{ by: string; comment: string | null }[]> {
  if (status !== 'approved' && status !== 'denied') return [];
  const verdict = status === 'approved' ? 'approve' : 'deny';
  const found = await ctx.db
    .select({ name: users.name, email: users.email, comment: decisions.comment })
    .from(decisions)
    .innerJoin(users, eq(users.id, decisions.approverId))
    .where(and(eq(decisions.approvalId, id), eq(decisions.verdict, verdict)))
    .orderBy(asc(decisions.decidedAt));
  return found.map(({ name, email, comment }) => ({ by: `${name} <${email}>`, comment }));
}

/** Opens the token of a button. Throws `invalid` for a token that is expired, modified or for another purpose. */
export async function openDecisionToken(ctx: Context, token: string): Promise<DecisionToken> {
  return decisionToken.parse(await open(ctx.keyring, 'decision', token, await readNow(ctx.db)));
}

async function button(ctx: Context, approval: Approval, verdict: Verdict): Promise<Action> {
  const now = await readNow(ctx.db);
  const lifetime = Math.max(1_000, approval.expiresAt.getTime() - now.getTime());
  const payload: DecisionToken = { approval: approval.id, digest: approval.requestDigest, verdict };
  const token = await seal(ctx.keyring, 'decision', payload, { now, lifetime });
  return { kind: 'decision', label: verdict === 'approve' ? 'Approve' : 'Deny request', verdict, token };
}

function factsOf({ subject, rule, expiresAt }: Approval): Fact[] {
  const { stage, stages } = stageOf(rule);
  const { requester, role, reason, duration, grants } = subject as ApprovalSubject;
  return [
    { name: 'Requester', value: `${requester.name} <${requester.email}>` },
    { name: 'Role', value: role },
    { name: 'Duration', value: formatDuration(duration) },
    { name: 'Reason', value: reason },
    { name: 'Systems', value: [...new Set(grants.map(({ provider }) => provider))].join(', ') },
    ...(stages > 1 ? [{ name: 'Stage', value: `${stage} of ${stages}` }] : []),
    { name: 'Decide by', value: expiresAt.toISOString() },
  ];
}
