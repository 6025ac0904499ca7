import { invalid } from '@belay/contract/errors';
import { type ExecutionFilter, executionPhase, runningStatus, workflowStatus } from '@belay/contract/executions';
import { endOfMoment, startOfMoment } from '@belay/contract/moments';
import { approvals, decisions, executions, users } from '@belay/db';
import { type SQL, sql } from 'drizzle-orm';
import type { ActorStore, UserActor } from '../context.js';
import { isId } from '../find-execution.js';
import { idsKnownAs } from '../people/known.js';
import { addressNaming } from '../people/names.js';
import { requireOverseer, seesEveryRequest } from '../people/oversight.js';
import { notPast, phaseOf } from './phase.js';

/**
 * How many requests of a list one page examines at most, so that a filter with few matches costs no more in a list of a million than in a
 * short one. Such a page is shorter, and `next` continues after the last request that was examined.
 */
const mostLookedAt = 2_000;

type Place = { id: string; at: string };

/**
 * Returns the ids of the requests that a filter selects and the caller may see, newest first (those that they decided:
 * the latest decision first), and the cursor of the next page. Throws `forbidden` for `person: "anyone"` unless the
 * caller may see every request, and `invalid` for a text that is not a cursor.
 */
export async function findRequests(
  ctx: ActorStore,
  user: UserActor,
  filter: ExecutionFilter,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<{ ids: string[]; next: string | null }> {
  const { rows, where, hidden } = await selectRequests(ctx, user, filter);
  const from = cursor === undefined ? undefined : readPlace(cursor, hidden);
  const after = from === undefined ? sql`` : sql`and (at, place) < ${placeOf(from)}`;
  const window = sql`select *, (extract(epoch from at) * 1000)::bigint::text as milliseconds from (${rows}) r
    where true ${after} order by at desc, place desc
    offset ${from?.skipped ?? 0} limit ${mostLookedAt}`;
  const found = await ctx.db.execute<Place & { execution: string }>(sql`
    select e.id as execution, e.place as id, e.milliseconds as at from (${window}) e
    where ${where.length === 0 ? sql`true` : sql.join(where, sql` and `)}
    order by e.at desc, e.place desc limit ${limit + 1}`);
  const shown = [...found].slice(0, limit);
  const end = found.length > limit || where.length === 0 ? undefined : await lastOf(ctx, window);
  // A cursor must not name a request that the caller may not see. In a list with such requests, the next page starts
  // after the last request that was shown, or, when none was shown, skips the requests that were examined.
  const { skipped, ...start } = from ?? { ...newest, skipped: 0 };
  const behind = hidden ? (shown.at(-1) ?? { ...start, skipped: skipped + mostLookedAt }) : end;
  const next = found.length > limit ? shown.at(-1) : end && behind;
  return { ids: shown.map(({ execution }) => execution), next: next === undefined ? null : writePlace(next) };
}

/** A place that is newer than every request. */
const newest: Place = { at: '9'.repeat(14), id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

function writePlace({ at, id, skipped }: Place & { skipped?: number }): string {
  return skipped === undefined ? `${at}.${id}` : `${at}.${id}.${skipped}`;
}

/** Returns the last request of a full window, after which there may be more; undefined for a window that is not full. */
async function lastOf(ctx: ActorStore, window: SQL): Promise<Place | undefined> {
  const [last] = await ctx.db.execute<Place>(
    sql`select e.place as id, e.milliseconds as at from (${window}) e offset ${mostLookedAt - 1} limit 1`,
  );
  return last;
}

/** Reads a cursor: a place and, in a list with hidden requests, how many requests after it are skipped. */
function readPlace(cursor: string, hidden: boolean): Place & { skipped: number } {
  const [at = '', id = '', skipped = '0', ...more] = cursor.split('.');
  const passed = /^\d{1,9}$/.test(skipped) ? Number(skipped) : Number.NaN;
  const whole = passed % mostLookedAt === 0 && (passed === 0 || hidden);
  if (!/^\d{1,14}$/.test(at) || !isId(id) || !whole || more.length > 0) {
    throw invalid('cursor', 'is not a cursor of this list');
  }
  return { at, id, skipped: passed };
}

function placeOf({ at, id }: Place): SQL {
  return sql`(to_timestamp(${at}::bigint / 1000.0), ${id}::uuid)`;
}

/**
 * Returns the query of a list in the order of an index, each row with its place; the conditions to check on each row; and whether the list
 * can contain requests of other people that the caller may not see.
 */
async function selectRequests(
  ctx: ActorStore,
  user: UserActor,
  filter: ExecutionFilter,
): Promise<{ rows: SQL; where: SQL[]; hidden: boolean }> {
  const columns = sql`e.id, e.owner_id, e.status, e.input, e.ended_at, e.created_at`;
  const where = conditionsOf(filter);
  const everyone = seesEveryRequest(ctx, user);
  if (filter.person === 'anyone' && filter.decided_by === undefined) {
    requireOverseer(ctx, 'Only administrators and auditors can see the requests of everyone');
  }
  const anyone = filter.person === 'anyone' || (filter.person === undefined && filter.decided_by !== undefined);
  const owners = anyone ? undefined : await ownersOf(ctx, user, filter.person);
  const isOwner = owners && isOneOf(owners);
  if (filter.decided_by !== undefined) {
    const rows = sql`select ${columns}, d.decided_at as at, d.approval_id as place from ${decisions} d
      join ${approvals} a on a.id = d.approval_id join ${executions} e on e.id = a.execution_id
      where d.approver_id = ${user.id}::uuid`;
    // A request on which the caller decided more than once is listed once, by the latest decision.
    where.push(sql`not exists (select from ${decisions} later join ${approvals} a on a.id = later.approval_id
      where a.execution_id = e.id and later.approver_id = ${user.id}::uuid and (later.decided_at, later.approval_id) > (e.at, e.place))`);
    if (isOwner) where.push(isOwner);
    return { rows, where, hidden: false };
  }
  const hidden = owners?.some((id) => id !== user.id) === true && !everyone;
  if (hidden) where.push(isSeenBy(user));
  const bounds = [
    isOwner,
    isCurrent(filter.status) && isNotPastOf(owners),
    filter.from === undefined ? undefined : sql`e.created_at >= ${timeOf(startOfMoment(filter.from))}`,
    filter.to === undefined ? undefined : sql`e.created_at <= ${timeOf(endOfMoment(filter.to))}`,
  ].filter((bound): bound is SQL => typeof bound === 'object');
  const rows = sql`select ${columns}, e.created_at as at, e.id as place from ${executions} e
    ${bounds.length === 0 ? sql`` : sql`where ${sql.join(bounds, sql` and `)}`}`;
  return { rows, where, hidden };
}

/**
 * Returns whether a status selects only requests that are not past. These are few, so they are selected before the other conditions apply.
 */
function isCurrent(status: ExecutionFilter['status']): boolean {
  return status === 'open' || status === 'active' || runningStatus.safeParse(status).success;
}

function isNotPastOf(owners: readonly string[] | undefined): SQL {
  const lists = owners === undefined ? [notPast(undefined)] : owners.map(notPast);
  if (lists.length === 0) return sql`false`;
  return sql`e.id = any(array(${sql.join(
    lists.map((list) => sql`${list}`),
    sql` union `,
  )}))`;
}

async function ownersOf(ctx: ActorStore, user: UserActor, person: string | undefined): Promise<string[]> {
  if (person === undefined) return [user.id];
  return idsKnownAs(ctx.db, person);
}

function isOneOf(owners: readonly string[]): SQL {
  const [one, ...others] = owners;
  if (one === undefined) return sql`false`;
  // With an equality, PostgreSQL reads the index in its order.
  if (others.length === 0) return sql`e.owner_id = ${one}::uuid`;
  return sql`e.owner_id in (${sql.join(
    owners.map((id) => sql`${id}::uuid`),
    sql`, `,
  )})`;
}

/** Matches the requests that `findExecution` returns to a person who may not see all of them. */
function isSeenBy(user: UserActor): SQL {
  return sql`(e.owner_id = ${user.id}::uuid
    or ${isNamedIn(user, sql`e.input -> 'break_glass'`)} or ${isNamedIn(user, sql`e.input -> 'break_glass' -> 'review'`)}
    or exists (select from ${approvals} a where a.execution_id = e.id and (${isNamedIn(user, sql`a.rule`)}
      or exists (select from ${decisions} d where d.approval_id = a.id and d.approver_id = ${user.id}::uuid))))`;
}

/** Matches a stored audience that names a person, by the rule of `isNamed`: its addresses are stored folded. */
function isNamedIn(user: UserActor, audience: SQL): SQL {
  const groups = sql`${JSON.stringify(user.groups)}::text::jsonb`;
  return sql`(coalesce(jsonb_exists(${audience} -> 'users', ${addressNaming(user)}::text), false)
    or exists (select from jsonb_array_elements_text(${groups}) own where jsonb_exists(${audience} -> 'groups', own)))`;
}

function conditionsOf({ status, role, provider, q, decided_by, from, to }: ExecutionFilter): SQL[] {
  const phase = executionPhase.safeParse(status).data;
  const exact = workflowStatus.safeParse(status).data;
  return [
    role !== undefined && sql`e.input ->> 'role' = ${role}`,
    provider !== undefined && sql`jsonb_exists(e.input -> 'providers', ${provider}::text)`,
    exact !== undefined && sql`e.status = ${exact}`,
    q !== undefined && has(q.trim()),
    // The list of decisions is ordered by the times of decisions, so the times of requests are checked on each row.
    decided_by !== undefined && from !== undefined && sql`e.created_at >= ${timeOf(startOfMoment(from))}`,
    decided_by !== undefined && to !== undefined && sql`e.created_at <= ${timeOf(endOfMoment(to))}`,
    // Last, because it reads other rows.
    phase !== undefined && sql`${phaseOf} = ${phase}`,
  ].filter((condition) => condition !== false);
}

function has(words: string): SQL {
  const like = `%${words.replaceAll(/[\\%_]/g, '\\$&')}%`;
  const places = [
    sql`e.input ->> 'role'`,
    sql`e.input ->> 'reason'`,
    sql`e.input ->> 'providers'`,
    sql`(select u.email || ' ' || u.name from ${users} u where u.id = e.owner_id)`,
  ];
  if (/^[0-9a-f-]{4,}$/i.test(words)) places.push(sql`'id:' || e.id::text`);
  return sql`(${sql.join(
    places.map((place, index) => sql`${place} ilike ${index === 4 ? `id:${words}%` : like}`),
    sql` or `,
  )})`;
}

function timeOf(moment: Date): SQL {
  return sql`${moment.toISOString()}::timestamptz`;
}
