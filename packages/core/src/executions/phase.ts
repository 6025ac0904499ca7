import { approvals, grants, type SqlText, sqlText } from '@belay/db';
import { isLiveIn } from '../access/wanted.js';

/**
 * The phase of the execution in the row `e`: `open` before access is active, `active` while access is held, or while an
 * execution that has not ended waits for the removal of its access, `past` afterwards.
 */
export const phaseOf: SqlText = sqlText`(case
  when exists (${grantsOf(sqlText`${isLiveIn('g')} and g.activated_at is null`)}) then 'open'
  when exists (${grantsOf(isLiveIn('g'))}) then 'active'
  when e.ended_at is not null then 'past'
  when exists (${grantsOf(sqlText`g.activated_at is not null and g.gone_at is null`)}) then 'active'
  when exists (${grantsOf(sqlText`g.gone_at is not null`)}) then 'past'
  when exists (select from ${approvals} a where a.execution_id = e.id and a.status in ('denied', 'expired')) then 'past'
  else 'open'
end)`;

function grantsOf(condition: SqlText): SqlText {
  // Grants that lapsed do not count: their step grants again after a new approval.
  return sqlText`select from ${grants} g where g.execution_id = e.id and coalesce(g.ended_reason, '') <> 'lapsed' and ${condition}`;
}

/**
 * Returns the query for the ids of all executions that are not past, of one owner or of everyone; some that are past
 * are among them.
 */
export function notPast(ownerId: string | undefined): SqlText {
  if (ownerId === undefined) {
    // The index `grants_over_idx` is in the order of the ends of grants, so live grants are its last rows.
    return sqlText`select id from executions where ended_at is null union
      select execution_id from ${grants} where gone_at is null and least(ended_at, coalesce(expires_at, activate_by)) > app_now()`;
  }
  return sqlText`select id from executions where owner_id = ${ownerId}::uuid and ended_at is null union
    select execution_id from ${grants} where user_id = ${ownerId}::uuid and ended_at is null
      and coalesce(expires_at, activate_by) > app_now()`;
}
