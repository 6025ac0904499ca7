import type { Inbox, InboxEntry, InboxFilter, InboxSort } from '@belay/contract/approvals';
import { formatDuration } from '@belay/contract/durations';
import { invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import { approvalAudience, approvals, comments, decisions, executions, users } from '@belay/db';
import type { Json } from '@belay/workflow';
import { and, eq, gt, inArray, isNull, or, type SQL, sql } from 'drizzle-orm';
import { requireUser } from '../actor.js';
import type { ActorStore, Store, UserActor } from '../context.js';
import { isId } from '../find-execution.js';
import { isKnownAs } from '../people/known.js';
import { addressNaming, namesOf } from '../people/names.js';
import { listSelves } from '../people/selves.js';
import type { PlannedGrant } from '../plans/plan.js';
import { mustDecideOnPage } from './on-page.js';
import { stageOf } from './subject.js';

export interface ApprovalSubject {
  role: string;
  reason: string;
  duration: number;
  requester: { email: string; name: string };
  /** An approval of an older version has no pins. */
  grants: (Omit<PlannedGrant, 'pin'> & { pin?: PlannedGrant['pin'] })[];
}

const most = limits.page;
const mostRequesters = 200;

/**
 * Returns what waits for the caller's decision: open, not expired, not their own, and not yet decided by them; 500 at
 * most. Throws `invalid` for a text that is not a cursor of this list.
 */
export async function listInbox(ctx: ActorStore, input: PageOf & InboxFilter = {}): Promise<Inbox> {
  const user = requireUser(ctx);
  const limit = Math.min(input.limit ?? most, most);
  const sort = input.sort ?? 'turns';
  const after = input.cursor === undefined ? undefined : placeOf(input.cursor, sort);
  const chosen = [
    input.requester === undefined ? undefined : isKnownAs(ctx.db, users.id, input.requester),
    input.id === undefined ? undefined : idIs(input.id),
  ];
  const where = and(...(await waitsFor(ctx, user)), ...chosen);
  const turns = ctx.db
    .select({
      id: approvals.id,
      turn: sql<number>`row_number() over (partition by ${executions.ownerId} order by ${approvals.createdAt}, ${approvals.id})`.as(
        'turn',
      ),
    })
    .from(approvals)
    .innerJoin(executions, eq(executions.id, approvals.executionId))
    .innerJoin(users, eq(users.id, executions.ownerId))
    .where(where)
    .as('turns');
  // Only the order `turns` has turns; the other orders have a constant in this place.
  const time = sort === 'ending' ? approvals.expiresAt : approvals.createdAt;
  const order = [sort === 'turns' ? sql`${turns.turn}` : sql`0::bigint`, sql`${time}`, sql`${approvals.id}`];
  const [rows, requesters] = await Promise.all([
    ctx.db
      .select({
        approval: approvals,
        turn: turns.turn,
        made: sql<number>`(select count(*)::int from ${decisions} where ${decisions.approvalId} = ${approvals.id} and ${decisions.verdict} = 'approve')`,
        remarks: sql<number>`(select count(*)::int from ${comments} where ${comments.executionId} = ${approvals.executionId})`,
        question: sql<boolean>`coalesce((select ${comments.kind} = 'question' from ${comments}
          where ${comments.executionId} = ${approvals.executionId} and ${comments.kind} <> 'comment'
          order by ${comments.createdAt} desc, ${comments.id} desc limit 1), false)`,
        extended: sql<
          string | null
        >`(select ${executions.extendsId} from ${executions} where ${executions.id} = ${approvals.executionId})`,
        breakGlass: sql<boolean>`(select ${executions.input} ? 'break_glass' from ${executions} where ${executions.id} = ${approvals.executionId})`,
      })
      .from(turns)
      .innerJoin(approvals, eq(approvals.id, turns.id))
      .where(after && sql`(${sql.join(order, sql`, `)}) > (${after.turn}, ${after.at}, ${after.id}::uuid)`)
      .orderBy(...order)
      // One more than is shown tells whether there are more.
      .limit(limit + 1),
    listRequesters(ctx, where),
  ]);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    approvals: shown.map((row) => describe(ctx, row)),
    next: rows.length > limit && last ? cursorOf(last, sort) : null,
    total: requesters[0]?.total ?? 0,
    requesters: requesters.map(({ email, name, waiting }) => ({ email, name, waiting })),
  };
}

async function listRequesters(ctx: ActorStore, where: SQL | undefined) {
  return ctx.db
    .select({
      email: users.email,
      name: users.name,
      waiting: sql<number>`count(*)::int`,
      total: sql<number>`(sum(count(*)) over ())::int`,
    })
    .from(approvals)
    .innerJoin(executions, eq(executions.id, approvals.executionId))
    .innerJoin(users, eq(users.id, executions.ownerId))
    .where(where)
    .groupBy(users.id)
    .orderBy(sql`min(${approvals.createdAt})`)
    .limit(mostRequesters);
}

/**
 * Matches approvals that name a person, by their address or a group. As an array, so that only these approvals are
 * read, independent of the planner's estimate of the number of open ones.
 */
function asks(ctx: ActorStore, user: UserActor): SQL {
  const { approvalId, kind, name } = approvalAudience;
  const named = ctx.db
    .select({ id: approvalId })
    .from(approvalAudience)
    .where(
      or(and(eq(kind, 'user'), eq(name, addressNaming(user))), and(eq(kind, 'group'), inArray(name, [...user.groups]))),
    );
  return sql`${approvals.id} = any(array(${named}))`;
}

/** Matches approvals that wait for a person. */
async function waitsFor(ctx: ActorStore, user: UserActor): Promise<SQL[]> {
  const selves = await listSelves(ctx.db, user.id);
  const ids = sql.param(JSON.stringify([user.id, ...selves.map(({ id }) => id)]));
  const names = sql.param(JSON.stringify(namesOf(selves)));
  return [
    asks(ctx, user),
    // The matched rows are always open. With a condition on the status the planner could read all open approvals
    // instead.
    isNull(approvals.closedAt),
    gt(approvals.expiresAt, sql`app_now()`),
    isNull(executions.endedAt),
    sql`not exists (select 1 from jsonb_array_elements_text(${approvals.excluded}) barred
      where barred in (select jsonb_array_elements_text(${names}::jsonb)))`,
    sql`${executions.ownerId}::text not in (select jsonb_array_elements_text(${ids}::jsonb))`,
    sql`not exists (select 1 from ${decisions} where ${decisions.approvalId} = ${approvals.id}
      and ${decisions.approverId}::text in (select jsonb_array_elements_text(${ids}::jsonb)))`,
  ];
}

function idIs(id: string): SQL | undefined {
  return isId(id) ? or(eq(approvals.id, id), eq(approvals.executionId, id)) : sql`false`;
}

/** Returns the cursor after an entry. It begins with the turn of the entry, or with the name of any other order. */
function cursorOf({ approval, turn }: Pick<Row, 'approval' | 'turn'>, sort: InboxSort): string {
  const time = sort === 'ending' ? approval.expiresAt : approval.createdAt;
  return `${sort === 'turns' ? turn : sort}.${time.getTime()}.${approval.id}`;
}

function placeOf(cursor: string, sort: InboxSort) {
  const [place = '', time = '', id = '', ...more] = cursor.split('.');
  const fits = sort === 'turns' ? /^\d{1,9}$/.test(place) : place === sort;
  if (!fits || !/^\d{1,14}$/.test(time) || !isId(id) || more.length > 0) {
    throw invalid('cursor', 'is not a cursor of this list');
  }
  const turn = sort === 'turns' ? place : '0';
  return { turn: sql`${turn}::bigint`, at: sql`to_timestamp(${time}::bigint / 1000.0)`, id };
}

interface Row {
  approval: typeof approvals.$inferSelect;
  turn: number;
  made: number;
  remarks: number;
  question: boolean;
  extended: string | null;
  breakGlass: boolean;
}

function describe(ctx: Store, { approval: row, made, remarks, question, extended, breakGlass }: Row): InboxEntry {
  const subject = row.subject as ApprovalSubject;
  return {
    id: row.id,
    execution_id: row.executionId,
    requester: subject.requester,
    role: subject.role,
    reason: subject.reason,
    duration: formatDuration(subject.duration),
    providers: [...new Set(subject.grants.map((grant) => grant.provider))],
    grants: subject.grants.map(({ provider, identity, access, residual, leavesBehind, expiry, pin }) => ({
      provider,
      identity,
      access: access as Json,
      residual,
      // Approvals of older versions do not contain this field.
      leaves_behind: leavesBehind ?? null,
      native_expiry: expiry ? { step: expiry.step ?? null } : null,
      target: pin?.target ?? null,
    })),
    request_digest: row.requestDigest,
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    count: row.rule.count,
    decisions: made,
    ...stageOf(row.rule),
    because: row.because,
    decide_on_page: mustDecideOnPage(ctx, subject.role),
    comments: remarks,
    open_question: question,
    extends: extended,
    break_glass: breakGlass,
  };
}
