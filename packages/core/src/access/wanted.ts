import { grants, rawText, type SqlText, sqlText } from '@belay/db';

/** Grants that count for their step: not those whose approval ended before the provider held the access. */
export const isNotLapsed: SqlText = sqlText`coalesce(${grants.endedReason}, '') <> 'lapsed'`;

/** Grants that say something of their request: of those that lapsed, the ones that may be held still. */
export const isNotOver: SqlText = sqlText`(${isNotLapsed} or ${grants.goneAt} is null)`;

/** Returns when the grant in a row of that name is over unless it is ended before: `overAt` of the schema. */
export function overAtIn(row: string): SqlText {
  const name = rawText(row);
  return sqlText`coalesce(${name}.expires_at, ${name}.activate_by)`;
}

/** Returns R3 for the grant in a row of that name: an entitlement is wanted exactly while a live grant claims it. Stored nowhere. */
export function isLiveIn(row: string): SqlText {
  return sqlText`${rawText(row)}.ended_at is null and ${overAtIn(row)} > app_now()`;
}

/** When a grant is over, unless it is ended before. */
export const overAt: SqlText = overAtIn('grants');

/** R3, of a row of `grants`. */
export const isLive: SqlText = isLiveIn('grants');

/**
 * Returns R3 for the grants of an execution. A grant that has not ended has not lapsed either; said as well, it leads to the index
 * of an execution's grants, and not to that of everybody's live ones.
 */
export function isLiveOf(execution: SqlText, row = 'grants'): SqlText {
  const name = rawText(row);
  return sqlText`${name}.execution_id = ${execution} and coalesce(${name}.ended_reason, '') <> 'lapsed' and ${isLiveIn(row)}`;
}

/** Whether a grant has ended, or its time has. */
export const isOver: SqlText = sqlText`(${grants.endedAt} is not null or ${overAt} <= app_now())`;

/** Returns when access ends, for the people concerned: null until it is active, in rows of older versions as well. */
export function expiryOf({
  activatedAt,
  expiresAt,
}: {
  activatedAt: Date | null;
  expiresAt: Date | null;
}): string | null {
  return activatedAt && expiresAt ? expiresAt.toISOString() : null;
}
