import { grants, type SqlText, sqlText } from '@belay/db';

/** Grants that count for their step: not those whose approval ended before the provider held the access. */
export const isNotLapsed: SqlText = sqlText`coalesce(${grants.endedReason}, '') <> 'lapsed'`;

/** Grants that say something of their request: of those that lapsed, the ones that may be held still. */
export const isNotOver: SqlText = sqlText`(${isNotLapsed} or ${grants.goneAt} is null)`;

/** R3: an entitlement is wanted exactly while a live grant claims it. Computed wherever it is asked; stored nowhere. */
export const isLive: SqlText = sqlText`${grants.endedAt} is null and ${grants.expiresAt} > app_now()`;
