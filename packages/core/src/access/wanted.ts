import { grants, rawText, type SqlText, sqlText } from '@belay/db';

/** Matches grants that count for their step: not those whose approval ended before the provider held the access. */
export const isNotLapsed: SqlText = sqlText`coalesce(${grants.endedReason}, '') <> 'lapsed'`;

/** Matches grants that show the state of their request: lapsed grants only while they may still be held. */
export const isNotOver: SqlText = sqlText`(${isNotLapsed} or ${grants.goneAt} is null)`;

/**
 * Returns, as SQL, when the grant in the row with this alias ends, unless it is ended earlier: the schema's `overAt`.
 */
export function overAtIn(row: string): SqlText {
  const name = rawText(row);
  return sqlText`coalesce(${name}.expires_at, ${name}.activate_by)`;
}

/**
 * Returns R3 as SQL for the grant in the row with this alias: an entitlement is wanted exactly while a live grant
 * claims it. Not stored anywhere.
 */
export function isLiveIn(row: string): SqlText {
  return sqlText`${rawText(row)}.ended_at is null and ${overAtIn(row)} > app_now()`;
}

/** When a grant ends, unless it is ended earlier. */
export const overAt: SqlText = overAtIn('grants');

/** R3 for a row of `grants`. */
export const isLive: SqlText = isLiveIn('grants');

/**
 * Returns R3 for the grants of an execution. In this form no index can serve the condition on time, so PostgreSQL uses the
 * index of an execution's grants instead of the index of all live grants.
 */
export function isLiveOf(execution: SqlText, row = 'grants'): SqlText {
  return sqlText`${rawText(row)}.execution_id = ${execution} and (${isLiveIn(row)}) is true`;
}

/** Matches grants that were ended, or whose time has passed. */
export const isOver: SqlText = sqlText`(${grants.endedAt} is not null or ${overAt} <= app_now())`;

/** Returns, as SQL, when a grant of this duration in milliseconds ends that becomes active at this time. */
export function expiryFrom(active: SqlText, duration: SqlText): SqlText {
  return sqlText`(${active} + ${duration} * interval '1 millisecond')::timestamptz(3)`;
}

/** Returns the time of `expiryFrom`, where the outcome of a step has to be known before its row is written. */
export function expiryAfter(active: Date, duration: number): Date {
  return new Date(active.getTime() + duration);
}

/** Returns when access ends, for the people concerned: null until it is active. */
export function expiryOf({
  activatedAt,
  expiresAt,
}: {
  activatedAt: Date | null;
  expiresAt: Date | null;
}): string | null {
  return activatedAt && expiresAt ? expiresAt.toISOString() : null;
}
