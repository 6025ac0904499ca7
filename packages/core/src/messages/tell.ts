import {
  approvals,
  comments,
  decisions,
  executions,
  grants,
  messages,
  notices,
  notificationPreferences,
  type Transaction,
  userIdentities,
  users,
} from '@belay/db';
import { and, eq, inArray, isNull, sql } from 'drizzle-orm';
import type { ApprovalSubject } from '../approvals/inbox.js';
import { hasMore } from '../approvals/subject.js';
import type { MessagesDefinition } from '../configuration/schema.js';
import type { Store } from '../context.js';
import { appendLedger } from '../ledger/append.js';
import { readNow } from '../now.js';
import { foldName, namesOf } from '../people/names.js';
import { listSelves } from '../people/selves.js';
import { elevationInputSchema } from '../plans/input.js';
import { namesUnderReview, readReviews } from '../reviews/read.js';
import { type Addressee, readApprovers } from './approvers.js';
import { nextTurn } from './draw.js';
import { placeInCourse } from './in-order.js';
import { subjectOf } from './queue.js';
import { untilQuietEnds } from './quiet-hours.js';
import { urgencyOf, urgencyOfRow } from './urgency.js';

/** How many notices of each urgency are turned into messages before newer ones are looked for. */
const most = 10;

type Notice = typeof notices.$inferSelect;

/** A message to be queued: to a person, on the channels that they prefer, or to an address on one channel. */
interface Telling {
  to: Addressee | { provider: string; to: string };
  urgent: boolean;
  text?: string;
}

/**
 * Turns due notices into one message for each person and channel, until none is due or `signal` aborts. Each notice has
 * a transaction of its own, so that a message is queued once, even with several workers or when one of them stops. A
 * notice that fails is tried again later and delays no other. Calls `told` when messages were queued, which can then be
 * delivered while the next ones are told.
 */
export async function tellNotices(
  ctx: Store,
  { told, signal }: { told(): Promise<void>; signal?: AbortSignal | undefined },
): Promise<void> {
  while (!signal?.aborted) {
    const definition = ctx.catalog.current().document.messages;
    if (!definition) return;
    const due = await findDue(ctx);
    // No notice is due, or other workers handle all due notices.
    if ((await tellAll(ctx, due, definition)) === 0) return;
    await told();
  }
}

/**
 * Returns due notices: of each urgency some, the more urgent ones first, and within an urgency in turns by the people
 * who caused them, the one that was served longest ago first. Of each request only the first, so that its messages are queued
 * before those of the next notice, even by different workers. A notice that failed is not due for a minute, and the next
 * one does not wait for it. An urgent notice waits for no other.
 */
async function findDue(ctx: Store): Promise<{ id: string }[]> {
  const line = sql`case when urgent then id else coalesce(execution_id, id) end`;
  return ctx.db.execute<{ id: string }>(sql`
    with first as (
      select distinct on (${line}) id, cause, due_at, ${urgencyOfRow} as urgency
      from ${notices} where told_at is null and due_at <= app_now()
      order by ${line}, created_at, ${placeInCourse(sql`kind`)}, id),
    causes as (
      select cause, (select n.turn from ${notices} n where n.cause = one.cause and n.turn is not null order by n.turn desc limit 1) as last
      from (select distinct cause from first) one),
    of_cause as (
      select first.*, row_number() over (partition by urgency, cause order by due_at, id) as nth from first),
    drawn as (
      select id, urgency, row_number() over (partition by urgency order by nth, causes.last nulls first, due_at, id) as place
      from of_cause join causes using (cause))
    select id from drawn where place <= ${most} order by urgency desc, place`);
}

/** Tells these notices, except those that another worker has locked. Returns how many were told or postponed. */
async function tellAll(ctx: Store, due: readonly { id: string }[], told: MessagesDefinition): Promise<number> {
  if (due.length === 0) return 0;
  const now = await readNow(ctx.db);
  let done = 0;
  for (const { id } of due) {
    try {
      await ctx.db.transaction(async (tx) => {
        const [notice] = await tx
          .select()
          .from(notices)
          .where(and(eq(notices.id, id), isDue))
          .for('update', { skipLocked: true });
        if (!notice) return;
        await tellOne(ctx, tx, notice, { told, now });
        done += 1;
      });
    } catch (error) {
      ctx.log.error({ notice: id, error }, 'a notification could not be queued');
      await ctx.db.update(notices).set({ dueAt: later, turn: nextTurn }).where(eq(notices.id, id));
      done += 1;
    }
  }
  return done;
}

const isDue = sql`${notices.toldAt} is null and ${notices.dueAt} <= app_now()`;
const later = sql`app_now() + interval '1 minute'`;

interface Telltale {
  told: MessagesDefinition;
  now: Date;
}

async function tellOne(ctx: Store, tx: Transaction, notice: Notice, surroundings: Telltale): Promise<void> {
  if (await pauseOf(tx, notice)) {
    await tx.update(notices).set({ dueAt: later, turn: nextTurn }).where(eq(notices.id, notice.id));
    return;
  }
  const tellings = await tellingsOf(ctx, tx, notice, surroundings);
  if (await waitsForPerson(tx, notice, tellings)) {
    ctx.log.warn(
      { execution: notice.executionId },
      'emergency access is used, but Belay knows no other person to notify',
    );
    await tx.update(notices).set({ dueAt: later, turn: nextTurn }).where(eq(notices.id, notice.id));
    return;
  }
  if (tellings.length > 0) await queueAll(ctx, tx, notice, tellings, surroundings);
  await tx.update(notices).set({ toldAt: sql`app_now()`, turn: nextTurn }).where(eq(notices.id, notice.id));
}

/**
 * Returns whether a notice of an emergency must wait, because no other person than the requester could be told now. It
 * waits until another person can be told, or until its request is deleted (decision 0146).
 */
async function waitsForPerson(tx: Transaction, { kind, executionId }: Notice, tellings: Telling[]): Promise<boolean> {
  if (kind !== 'break_glass.used') return false;
  const [request] = await tx
    .select({ ownerId: executions.ownerId })
    .from(executions)
    .where(eq(executions.id, executionId ?? ''));
  if (!request) return false;
  const selves = await listSelves(tx, request.ownerId);
  const names = namesOf(selves);
  const isRequester = (to: Addressee) =>
    selves.some(({ id }) => id === to.userId) || names.includes(foldName(to.address));
  return tellings.every(({ to }) => 'userId' in to && isRequester(to));
}

/** Returns whether a notice is too early: other grants of its request are not active yet, or are still held. */
async function pauseOf(tx: Transaction, { kind, executionId }: Notice): Promise<boolean> {
  if (executionId === null || (kind !== 'access.active' && kind !== 'access.ended')) return false;
  const over = sql`coalesce(${grants.endedAt}, ${grants.expiresAt}, ${grants.activateBy}) <= app_now()`;
  const unsettled =
    kind === 'access.active'
      ? sql`${grants.activatedAt} is null and not ${over}`
      : sql`${grants.activatedAt} is not null and ${grants.goneAt} is null and (${grants.endedAt} is null or ${grants.endedReason} <> 'lapsed')`;
  const [one] = await tx
    .select({ id: grants.id })
    .from(grants)
    .where(and(eq(grants.executionId, executionId), sql`coalesce(${grants.endedReason}, '') <> 'lapsed'`, unsettled))
    .limit(1);
  return one !== undefined;
}

async function tellingsOf(ctx: Store, tx: Transaction, notice: Notice, { told, now }: Telltale): Promise<Telling[]> {
  const { kind, approvalId, executionId, endsAt, urgent } = notice;
  if (kind === 'revocation.overdue') return told.operators.map((to) => ({ to, urgent }));
  if (kind === 'access.drifted' || kind === 'people.joined')
    return told.operators.map((to) => ({ to, urgent, text: notice.text ?? '' }));
  if (kind === 'requests.digest') return tellDigest(ctx, tx);
  if (kind === 'request.waiting') {
    const [approval] = await tx
      .select()
      .from(approvals)
      .where(eq(approvals.id, approvalId ?? ''));
    if (approval?.status !== 'open') return [];
    const { role } = approval.subject as ApprovalSubject;
    const important = ctx.catalog.current().roles.get(role)?.definition.urgent ?? false;
    return (await readApprovers(ctx, tx, [approval]))(approval).map((to) => ({ to, urgent: important }));
  }
  if (kind === 'request.decided') {
    const [approval] = await tx
      .select({ status: approvals.status, rule: approvals.rule })
      .from(approvals)
      .where(eq(approvals.id, approvalId ?? ''));
    // The requester is not told that a stage was approved when another stage follows.
    if (approval?.status === 'approved' && hasMore(approval.rule)) return [];
  }
  if (kind === 'break_glass.used') return tellBreakGlass(ctx, tx, notice, told);
  if (kind === 'review.opened' || kind === 'review.overdue') return tellReview(ctx, tx, notice, told);
  if (kind === 'request.comment') return tellComment(ctx, tx, notice);
  // A reminder is of no use after the access has ended.
  if (endsAt && endsAt <= now) return [];
  const owner = await readOwner(tx, executionId);
  return owner ? [{ to: owner, urgent }] : [];
}

/**
 * Returns the requester, with the current address of the identity of the request, because another person may have the earlier address.
 * Undefined when the requester has left.
 */
async function readOwner(tx: Transaction, executionId: string | null): Promise<Addressee | undefined> {
  const signedIn = sql`${executions.input} -> 'user'`;
  const [owner] = await tx
    .select({ userId: users.id, address: sql<string>`coalesce(${userIdentities.email}, ${users.email})` })
    .from(executions)
    .innerJoin(users, eq(users.id, executions.ownerId))
    .leftJoin(
      userIdentities,
      and(
        eq(userIdentities.userId, users.id),
        sql`${userIdentities.provider} = ${signedIn} ->> 'provider'`,
        sql`${userIdentities.subject} = ${signedIn} ->> 'subject'`,
      ),
    )
    .where(and(eq(executions.id, executionId ?? ''), isNull(users.deprovisionedAt)));
  return owner;
}

/**
 * Returns the message about a comment for the person of the notice. Returns nothing when they have left, or can no longer read the request
 * in Belay.
 */
async function tellComment(ctx: Store, tx: Transaction, { key, userId, executionId }: Notice): Promise<Telling[]> {
  const [written] = await tx
    .select({ kind: comments.kind, text: comments.text, name: users.name })
    .from(comments)
    .innerJoin(users, eq(users.id, comments.authorId))
    .where(eq(comments.id, subjectOf(key)));
  const [reader] = await tx
    .select({ address: users.email })
    .from(users)
    .where(and(eq(users.id, userId ?? ''), isNull(users.deprovisionedAt)));
  if (!written || !reader || userId === null || !(await mayRead(ctx, tx, { userId, executionId }))) return [];
  const verb = { comment: 'commented', question: 'asks', answer: 'answered' }[written.kind];
  return [{ to: { userId, address: reader.address }, urgent: false, text: `${written.name} ${verb}: ${written.text}` }];
}

/** Returns who is told of the use of an emergency role: the people whom its request names, and the operators. */
async function tellBreakGlass(
  ctx: Store,
  tx: Transaction,
  { executionId, urgent }: Notice,
  { operators }: MessagesDefinition,
): Promise<Telling[]> {
  const [execution] = await tx
    .select({ input: executions.input })
    .from(executions)
    .where(eq(executions.id, executionId ?? ''));
  const { data } = elevationInputSchema.safeParse(execution?.input);
  const asked = { rule: { ...(data?.break_glass ?? { users: [], groups: [] }), count: 1, refusals: 1 }, excluded: [] };
  const people = (await readApprovers(ctx, tx, [asked]))(asked);
  return [...people, ...operators].map((to) => ({ to, urgent }));
}

/** Returns who is told of an open review: its reviewers, without the people whom it is about, and the operators when it is overdue. */
async function tellReview(
  ctx: Store,
  tx: Transaction,
  { key, kind, urgent }: Notice,
  { operators }: MessagesDefinition,
): Promise<Telling[]> {
  const [found] = await readReviews(tx, { which: sql`r.id = ${subjectOf(key)}::uuid`, order: sql`r.id`, limit: 1 });
  if (!found || found.closedAt !== null) return [];
  const names = namesOf(await listSelves(tx, found.ownerId));
  const excluded = [...names, ...namesUnderReview(found)];
  const asked = { rule: { ...found.rule, count: 1, refusals: 1 }, excluded };
  const people = (await readApprovers(ctx, tx, [asked]))(asked);
  return [...people, ...(kind === 'review.overdue' ? operators : [])].map((to) => ({ to, urgent }));
}

/** Returns whether a person can read a request in Belay: its owner, a person who decided on it, or one of its current approvers. */
async function mayRead(
  ctx: Store,
  tx: Transaction,
  { userId, executionId }: { userId: string; executionId: string | null },
): Promise<boolean> {
  const [own] = await tx.execute(sql`
    select 1 from ${executions} e where e.id = ${executionId} and e.owner_id = ${userId}
    union all
    select 1 from ${decisions} d join ${approvals} a on a.id = d.approval_id
      where a.execution_id = ${executionId} and d.approver_id = ${userId}
    limit 1`);
  if (own) return true;
  const asked = await tx
    .select()
    .from(approvals)
    .where(eq(approvals.executionId, executionId ?? ''));
  const find = await readApprovers(ctx, tx, asked);
  return asked.some((approval) => find(approval).some((one) => one.userId === userId));
}

/** Returns for each approver how many requests wait for their decision. */
async function tellDigest(ctx: Store, tx: Transaction): Promise<Telling[]> {
  // The status is a literal: the partial index of open approvals needs one.
  const open = await tx
    .select()
    .from(approvals)
    .where(sql`${approvals.status} = 'open' and ${approvals.expiresAt} > app_now()`);
  const find = await readApprovers(ctx, tx, open);
  const waiting = new Map<string, { to: Addressee; count: number }>();
  for (const approval of open) {
    for (const to of find(approval)) {
      const key = to.userId ?? to.address;
      waiting.set(key, { to, count: (waiting.get(key)?.count ?? 0) + 1 });
    }
  }
  return [...waiting.values()].map(({ to, count }) => ({
    to,
    urgent: false,
    text: count === 1 ? '1 request waits for your decision' : `${count} requests wait for your decision`,
  }));
}

/** Queues the messages of a notice. A message about an open approval becomes a question with buttons; every other one only informs. */
async function queueAll(ctx: Store, tx: Transaction, notice: Notice, tellings: Telling[], { told, now }: Telltale) {
  const ids = tellings.flatMap(({ to }) => ('userId' in to && to.userId !== null ? [to.userId] : []));
  const rows =
    ids.length === 0
      ? []
      : await tx.select().from(notificationPreferences).where(inArray(notificationPreferences.userId, ids));
  const preferences = new Map(rows.map((row) => [row.userId, row]));
  const about =
    notice.kind === 'request.waiting' ? { approvalId: notice.approvalId } : { noticeId: notice.id, approvalId: null };
  const values = tellings.flatMap(({ to, urgent, text = null }) => {
    const own = 'userId' in to ? preferences.get(to.userId ?? '') : undefined;
    if (own?.muted.includes(notice.kind)) return [];
    const wait = urgent || !own ? 0 : quietOf(own, now);
    const recipient = 'userId' in to ? to.address : to.to;
    const channels = 'userId' in to ? told.channels.filter((id) => own?.channels?.includes(id) ?? true) : [to.provider];
    return channels.map((provider) => ({
      id: ctx.newId(),
      key: `${notice.key} ${provider} ${recipient}`,
      ...about,
      provider,
      recipient,
      text,
      cause: notice.cause,
      urgency: urgencyOf(notice.kind, urgent),
      dueAt: new Date(now.getTime() + wait),
    }));
  });
  if (values.length === 0) return;
  await tx.insert(messages).values(values).onConflictDoNothing();
  await appendLedger(tx, [
    {
      type: 'message.queued',
      message: `${values.length === 1 ? '1 message is' : `${values.length} messages are`} queued: ${notice.kind}`,
      actor: { kind: 'system', name: 'messages' },
      ...(notice.userId === null ? {} : { userId: notice.userId }),
      ...(notice.executionId === null ? {} : { executionId: notice.executionId }),
      data: { kind: notice.kind, channels: [...new Set(values.map(({ provider }) => provider))] },
    },
  ]);
}

function quietOf({ quietFrom, quietTo, timeZone }: typeof notificationPreferences.$inferSelect, now: Date): number {
  if (quietFrom === null || quietTo === null) return 0;
  return untilQuietEnds({ from: quietFrom, to: quietTo, timeZone: timeZone ?? 'UTC' }, now);
}
