import { approvals, messages, messageTurns, notices } from '@belay/db';
import { eq, type SQL, sql } from 'drizzle-orm';
import type { Context, Store } from '../context.js';
import { placeInCourse } from './in-order.js';
import type { Urgency } from './urgency.js';

/** How many messages one statement draws: no person waits for more than this many of another person's. */
const most = 50;

/** Messages of one channel and urgency. */
export interface Lane {
  provider: string;
  urgency: Urgency;
}

type Row = typeof messages.$inferSelect;

/** A message about an approval. */
export interface Claimed {
  message: Row;
  approval: typeof approvals.$inferSelect;
}

/** A message that a step of a workflow sends. */
export interface ClaimedTold {
  message: Row & { executionId: string };
}

/** A message that tells of a notice. */
export interface ClaimedNotice {
  message: Row;
  notice: typeof notices.$inferSelect;
}

export type AnyClaimed = Claimed | ClaimedTold | ClaimedNotice;

const about = sql`${messages} m left join ${approvals} a on a.id = m.approval_id left join ${notices} n on n.id = m.notice_id`;
/** Whether a message has something to deliver or to revise: a delivered one waits for the end of its approval. */
const hasWork = sql`(m.delivered_at is null or a.status <> 'open')`;

/**
 * Closes what need not be told any more, because its approval has closed, and returns the lanes that have work. Only
 * what was never attempted is closed here: what a person may have received is revised.
 */
export async function readLanes(ctx: Store): Promise<Lane[]> {
  const rows = await ctx.db.execute<{ provider: string; urgency: Urgency }>(sql`
    with unneeded as (
      select m.id from ${messages} m join ${approvals} a on a.id = m.approval_id
      where m.closed_at is null and m.delivered_at is null and m.attempts = 0 and a.status <> 'open'
      for update of m skip locked),
    dropped as (update ${messages} set closed_at = app_now() from unneeded where ${messages}.id = unneeded.id returning ${messages}.id),
    untold as (
      select n.id from ${notices} n join ${approvals} a on a.id = n.approval_id
      where n.told_at is null and n.kind = 'request.waiting' and a.status <> 'open'
      for update of n skip locked),
    left_out as (update ${notices} set told_at = app_now() from untold where ${notices}.id = untold.id)
    select distinct m.provider, m.urgency from ${messages} m left join ${approvals} a on a.id = m.approval_id
    where m.closed_at is null and m.due_at <= app_now() and ${hasWork} and not exists (select from dropped where dropped.id = m.id)
    order by m.urgency desc, m.provider`);
  return [...rows];
}

/**
 * Returns messages of a lane that are due, in the order in which they are to be sent: the people who caused them take
 * turns, and of each the recipients; who was served longest ago is first. Messages to one recipient about one request go
 * out in the order of events: each is drawn after the one before it was delivered or given up. Urgent notices do not
 * wait, and no message waits for one that is held back by quiet hours. Draws nothing before `restsUntil`.
 */
export async function drawMessages(
  ctx: Store,
  { provider, urgency }: Lane,
  restsUntil: Date | null = null,
): Promise<string[]> {
  const here = sql`m.provider = ${provider}`;
  const served = (whose: SQL) => sql`
    select s.turn from ${messages} s where s.provider = ${provider} and ${whose} and s.turn is not null
    order by s.turn desc limit 1`;
  const rows = await ctx.db.execute<{ id: string }>(sql`
    with first as materialized (${firstOfLines(here)}),
    ready as (
      select m.id, m.cause, m.recipient, m.due_at,
        row_number() over (partition by m.cause, m.recipient order by m.due_at, m.id) as nth
      from ${about} where ${here} and m.urgency = ${urgency} and ${isReady}
        and app_now() >= coalesce(${restsUntil?.toISOString() ?? null}::timestamptz, '-infinity')),
    recipients as (
      select cause, recipient, (${served(sql`s.cause = one.cause and s.recipient = one.recipient`)}) as last
      from (select distinct cause, recipient from ready) one),
    causes as (
      select cause, (${served(sql`s.cause = one.cause`)}) as last from (select distinct cause from ready) one),
    in_cause as (
      select ready.*, row_number() over (
        partition by cause order by nth, recipients.last nulls first, due_at, id) as turn
      from ready join recipients using (cause, recipient))
    select id from in_cause join causes using (cause) order by turn, causes.last nulls first, due_at, id limit ${most}`);
  return rows.map(({ id }) => id);
}

/** Returns messages about one request that are due, of every channel and urgency. */
export async function drawOfExecution(ctx: Store, executionId: string): Promise<string[]> {
  const here = sql`coalesce(a.execution_id, m.execution_id, n.execution_id) = ${executionId}`;
  const rows = await ctx.db.execute<{ id: string }>(sql`
    with first as materialized (${firstOfLines(here)})
    select m.id from ${about}
    where coalesce(a.execution_id, m.execution_id) = ${executionId} and ${isReady}
    order by m.due_at, m.id limit ${most}`);
  return rows.map(({ id }) => id);
}

/** Whether a message can be sent or revised now, where `first` are the first messages of all lines. */
const isReady = sql`m.closed_at is null and m.due_at <= app_now()
  and case when m.delivered_at is not null or a.status <> 'open' then a.status <> 'open'
    else n.urgent or coalesce(a.execution_id, m.execution_id, n.execution_id) is null or m.id in (select id from first) end`;

function firstOfLines(here: SQL) {
  const request = sql`coalesce(a.execution_id, m.execution_id, n.execution_id)`;
  return sql`
    select distinct on (m.provider, m.recipient, ${request}) m.id from ${about}
    where m.closed_at is null and m.delivered_at is null and (m.due_at <= app_now() or m.attempts > 0)
      and ${request} is not null and coalesce(a.status, 'open') = 'open' and not coalesce(n.urgent, false) and ${here}
    order by m.provider, m.recipient, ${request}, coalesce(n.created_at, a.created_at, m.created_at),
      ${placeInCourse(sql`coalesce(n.kind, 'request.waiting')`)}, m.id`;
}

/**
 * Claims a message that was drawn for the time of a lease, during which no other worker attempts it. Returns null when
 * another worker was first.
 */
export async function claimMessage(ctx: Context, id: string): Promise<AnyClaimed | null> {
  const taken = await ctx.db.execute(sql`
    update ${messages} m set attempts = m.attempts + 1, turn = ${nextTurn},
      due_at = app_now() + ${`${ctx.timing.lease} milliseconds`}::interval
    where m.id = ${id} and m.closed_at is null and m.due_at <= app_now()
      and (m.delivered_at is null or exists (select from ${approvals} a where a.id = m.approval_id and a.status <> 'open'))
    returning m.id`);
  if (taken.length === 0) return null;
  const [row] = await ctx.db
    .select({ message: messages, approval: approvals, notice: notices })
    .from(messages)
    .leftJoin(approvals, eq(approvals.id, messages.approvalId))
    .leftJoin(notices, eq(notices.id, messages.noticeId))
    .where(eq(messages.id, id));
  if (!row) return null;
  const { message, approval, notice } = row;
  if (approval) return { message, approval };
  if (message.executionId !== null) return { message: { ...message, executionId: message.executionId } };
  return notice && { message, notice };
}

/** The place at the end of the order in which notices and messages were taken, in SQL. */
export const nextTurn = sql`nextval(${messageTurns.seqName}::regclass)`;
