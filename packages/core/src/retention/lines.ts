import { execute, executions, grants, ledger, reviews, type SqlText, sqlText, type Transaction } from '@belay/db';
import type { Store } from '../context.js';
import { familyOf } from '../request-family.js';

/** Where an entry is in the order of an archive: by its time, then by its number. */
export interface Position {
  at: string;
  seq: number;
}

/** The line of an entry `l`. It is the same in every database session, because its time is in UTC and every column is named. */
export const lineOf: SqlText = sqlText`jsonb_build_object(
  'seq', l.seq, 'at', to_char(l.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'type', l.type, 'level', l.level,
  'message', l.message, 'actor', l.actor, 'user_id', l.user_id, 'provider', l.provider, 'execution_id', l.execution_id,
  'entitlement_id', l.entitlement_id, 'data', l.data)::text`;

/** How many entries are archived, checked and deleted together. */
export const blockRows = 1_000;

interface Line extends Position {
  line: string;
}

/** Returns the next lines after a position and before another, both excluded, in order. */
export function readLines(ctx: Store, after: Position, before: Position): Promise<Line[]> {
  return execute<Line>(
    ctx.db,
    sqlText`
    select to_char(l.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, l.seq::float8 as seq, ${lineOf} as line
    from ${ledger} l
    where (l.at, l.seq) > (${after.at}::text::timestamptz, ${after.seq}::bigint)
      and (l.at, l.seq) < (${before.at}::text::timestamptz, ${before.seq}::bigint)
    order by l.at, l.seq limit ${blockRows}`,
  );
}

/** The ids of requests that are open, hold access, owe a revocation or wait for a review, each with its whole family. */
const liveFamilies: SqlText = sqlText`
  select member.id from (
    select id from ${executions} where ended_at is null
    union select execution_id from ${grants} where gone_at is null
    union select execution_id from ${reviews} where closed_at is null) live
  cross join lateral (select family_id.id from ${familyOf(sqlText`live.id`)} as family_id (id)) member`;

/**
 * Returns, as SQL, whether a request, what it extends and its extensions all ended before a time and have held no access since
 * then. This does not change later: an extension needs held access, and a transaction that saw such access would have to be
 * older than that time. Uses `count`, because PostgreSQL plans `not exists` as a join with all executions.
 */
export function isOver(id: SqlText, before: SqlText): SqlText {
  return sqlText`(
    select count(*) = 0 from ${familyOf(id)} as member (id) join ${executions} over_one on over_one.id = member.id
    where over_one.ended_at is null or over_one.ended_at > ${before}
      or exists (select from ${grants} g where g.execution_id = over_one.id and (g.gone_at is null or g.gone_at > ${before})))`;
}

/** Returns, as SQL, whether a set of entries with the column `execution_id` has an entry of a request that is not over. */
export function hasLive(entries: SqlText): SqlText {
  return sqlText`exists (
    select from (${liveFamilies}) unfinished join ${entries} concerned on concerned.execution_id = unfinished.id)`;
}

/** Returns whether a request that is not over has an entry at or after `from` and before `until`. */
export async function isLiveBetween(db: Store['db'] | Transaction, from: string, until: string): Promise<boolean> {
  const [row] = await execute<{ live: boolean }>(
    db,
    sqlText`select ${hasLive(sqlText`lateral (
      select l.execution_id from ${ledger} l where l.execution_id = unfinished.id
        and l.at >= ${from}::text::timestamptz and l.at < ${until}::text::timestamptz limit 1)`)} as live`,
  );
  return row?.live ?? false;
}
