import { approvals, entitlements, executions, grants, type messages, type notices, reviews } from '@belay/db';
import type { Fact, Message } from '@belay/providers';
import { and, eq, isNotNull } from 'drizzle-orm';
import type { Context } from '../context.js';
import { readNow } from '../now.js';
import { elevationInputSchema } from '../plans/input.js';
import { listDecisions, outcomes } from './compose.js';
import { linkTo, type Place, placeOfRequest, places } from './link-to.js';
import { subjectOf } from './queue.js';

type Row = typeof messages.$inferSelect;
type Notice = typeof notices.$inferSelect;

interface Words {
  title: string;
  text: string;
  facts?: Fact[];
  action: { label: string; to: Place };
}

/** Returns the message of a notice, with what is true when it is delivered. */
export async function composeNotice(ctx: Context, row: Row, notice: Notice): Promise<Message> {
  const { title, text, facts = [], action } = await wordsOf(ctx, row, notice);
  return {
    to: row.recipient,
    kind: notice.kind,
    title,
    text,
    facts,
    actions: [linkTo(ctx, action.label, action.to)],
    idempotencyKey: row.key,
  };
}

async function wordsOf(ctx: Context, row: Row, notice: Notice): Promise<Words> {
  if (notice.kind === 'requests.digest') {
    const title = row.text ?? 'Requests wait for your decision';
    return { title, text: title, action: { label: 'Open inbox', to: places.inbox } };
  }
  if (notice.kind === 'access.drifted' || notice.kind === 'people.joined') {
    const [title = '', ...lines] = (row.text ?? '').split('\n');
    return { title, text: lines.join('\n'), action: { label: 'Open audit log', to: places.auditLog } };
  }
  const { role, reason, who, address, systems } = await readRequest(ctx, notice);
  const facts = [
    { name: 'Role', value: role },
    { name: 'Reason', value: reason },
  ];
  if (notice.kind === 'review.opened' || notice.kind === 'review.overdue') {
    const due = await readDue(ctx, notice);
    const title = `${notice.kind === 'review.opened' ? 'To review' : 'Review overdue'}: emergency access of ${who} to ${role}`;
    const by = { name: 'Review by', value: due?.toISOString() ?? '' };
    const action = { label: 'Open reviews', to: places.reviews };
    return { title, text: `${title} at ${systems}`, facts: [...facts, by], action };
  }
  const action = { label: 'View request', to: placeOfRequest(notice.executionId) };
  if (notice.kind === 'request.comment')
    return { title: `A comment on ${role}`, text: row.text ?? '', facts: facts.slice(0, 1), action };
  if (notice.kind === 'revocation.overdue') return wordsOfOverdue(ctx, notice, { facts, action });
  if (notice.kind === 'break_glass.used') {
    // When no grant was ever active, the provider may still have held the access, but this was never verified.
    const title = `Emergency access: ${who} ${(await wasActive(ctx, notice)) ? 'uses' : 'may have used'} ${role}`;
    // People choose their names, so only the address identifies the requester.
    const requester = { name: 'Requester', value: `${who} <${address}>` };
    return { title, text: `${title} at ${systems}`, facts: [requester, ...facts], action };
  }
  if (notice.kind === 'request.decided') {
    const { outcome, decided } = await readOutcome(ctx, notice);
    const text = `Your request for ${role}: ${outcome.toLowerCase()}`;
    return { title: `${outcome}: ${role}`, text, facts: [...facts, ...decided], action };
  }
  if (notice.kind === 'access.ending' && notice.endsAt) {
    const left = notice.endsAt.getTime() - (await readNow(ctx.db)).getTime();
    const minutes = Math.max(1, Math.round(left / 60_000));
    const title = `Access ends in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}: ${role}`;
    const ends = { name: 'Ends at', value: notice.endsAt.toISOString() };
    return { title, text: title, facts: [...facts, ends], action: { ...action, label: 'Extend access' } };
  }
  const title = notice.kind === 'access.ended' ? `Access has ended: ${role}` : `Access is active: ${role}`;
  return { title, text: title, facts, action };
}

async function readRequest(ctx: Context, { executionId }: Notice) {
  const [execution] = await ctx.db
    .select({ input: executions.input })
    .from(executions)
    .where(eq(executions.id, executionId ?? ''));
  const { data } = elevationInputSchema.safeParse(execution?.input);
  return {
    role: data?.dynamic ? 'a custom request' : (data?.role ?? 'a request'),
    reason: data?.reason ?? '',
    who: data?.user.name ?? 'Someone',
    address: data?.user.email ?? '',
    systems: data?.providers.join(', ') ?? '',
  };
}

async function wasActive(ctx: Context, { executionId }: Notice): Promise<boolean> {
  const [active] = await ctx.db
    .select({ id: grants.id })
    .from(grants)
    .where(and(eq(grants.executionId, executionId ?? ''), isNotNull(grants.activatedAt)))
    .limit(1);
  return active !== undefined;
}

async function readDue(ctx: Context, { key }: Notice): Promise<Date | undefined> {
  const [review] = await ctx.db
    .select({ dueAt: reviews.dueAt })
    .from(reviews)
    .where(eq(reviews.id, subjectOf(key)));
  return review?.dueAt;
}

async function readOutcome(ctx: Context, { approvalId }: Notice): Promise<{ outcome: string; decided: Fact[] }> {
  const [approval] = await ctx.db
    .select({ id: approvals.id, status: approvals.status })
    .from(approvals)
    .where(eq(approvals.id, approvalId ?? ''));
  if (!approval || approval.status === 'open') return { outcome: 'Decided', decided: [] };
  const made = await listDecisions(ctx, approval);
  const decided = made.flatMap(({ by, comment }): Fact[] => [
    { name: 'Decided by', value: by },
    ...(comment ? [{ name: 'Comment', value: comment }] : []),
  ]);
  return { outcome: outcomes[approval.status], decided };
}

async function wordsOfOverdue(
  ctx: Context,
  { entitlementId }: Notice,
  rest: Pick<Words, 'facts' | 'action'>,
): Promise<Words> {
  const [held] = await ctx.db
    .select({ provider: entitlements.provider, identity: entitlements.identity, lastError: entitlements.lastError })
    .from(entitlements)
    .where(eq(entitlements.id, entitlementId ?? ''));
  const { provider = 'a system', identity = 'Someone', lastError } = held ?? {};
  return {
    title: `A revocation at ${provider} is overdue`,
    text: `${identity} still holds access at ${provider} that should have ended`,
    facts: [...(rest.facts ?? []), ...(lastError ? [{ name: 'Last error', value: lastError }] : [])],
    action: rest.action,
  };
}
