import type { House } from '@belay/testkit/house';

/** Each key is a statement that must not be true of any row at any time; its query finds such rows. */
const never: Record<string, string> = {
  'an execution that has ended has an open step': `select e.id from executions e join steps s on s.execution_id = e.id where e.ended_at is not null and s.status = 'open'`,
  'an execution that has ended has an open approval': `select e.id from executions e join approvals a on a.execution_id = e.id where e.ended_at is not null and a.status = 'open'`,
  'an execution that was abandoned has a live grant': `select e.id from executions e join grants g on g.execution_id = e.id
    where e.status in ('faulted', 'cancelled', 'terminated') and g.ended_at is null and g.expires_at > app_now()`,
  'an execution that is being cancelled has a live grant': `select e.id from executions e join grants g on g.execution_id = e.id
    where e.cancel_requested_at is not null and g.ended_at is null and g.expires_at > app_now()`,
  'an execution that waits has nothing to wait for': `select e.id from executions e where e.ended_at is null
    and not exists (select 1 from steps s where s.execution_id = e.id and s.status = 'open')`,
  'an execution that completed left a grant that is still to come': `select e.id from executions e join grants g on g.execution_id = e.id
    where e.status = 'completed' and g.activated_at is null and g.ended_at is null and g.expires_at > app_now()`,
  'a live grant is on an entitlement that is absent': `select g.id from grants g join entitlements e on e.id = g.entitlement_id
    where e.state = 'absent' and g.ended_at is null and g.expires_at > app_now()`,
  'a grant is live and gone': `select id from grants where gone_at is not null and ended_at is null and coalesce(expires_at, activate_by) > app_now()`,
  'a grant is longer than was requested': `select g.id from grants g where g.activated_at is not null and g.expires_at > g.activated_at + g.duration * interval '1 millisecond'`,
  'something was granted without the approval that was requested': `select g.id from grants g join approvals a on a.execution_id = g.execution_id
    where a.status <> 'approved' and a.created_at < g.created_at`,
  'a person decided on their own request': `select a.id from approvals a join executions e on e.id = a.execution_id
    join decisions d on d.approval_id = a.id join users u on u.id = d.approver_id
    where d.approver_id = e.owner_id or a.excluded ? lower(u.email)`,
  'the ledger tells another end than the row': `select e.id from executions e, lateral (
      select array_agg(distinct case when l.type = 'execution.terminated' then 'terminated' else split_part(l.type, '.', 4) end) as ends, count(*) as times
      from ledger l where l.execution_id = e.id and (l.type = 'execution.terminated' or l.type similar to 'io.serverlessworkflow.workflow.(completed|faulted|cancelled).v1')) told
    where (e.ended_at is null) <> (told.times = 0) or told.times > 1 or (e.ended_at is not null and told.ends <> array[e.status])`,
  'an event follows the end of its execution': `select l.seq::text as id from ledger l join ledger o on o.execution_id = l.execution_id and o.seq < l.seq
    where o.type similar to 'io.serverlessworkflow.workflow.(completed|faulted|cancelled).v1|execution.terminated'
      and (l.type like 'io.serverlessworkflow.%' or l.type like 'approval.%' or l.type = 'grant.intended')`,
  'a grant became active and the ledger does not know': `select g.id from grants g where g.activated_at is not null and not exists (
    select 1 from ledger l where l.execution_id = g.execution_id and l.entitlement_id = g.entitlement_id and l.type = 'entitlement.granted')`,
  'a grant is gone and the ledger does not know': `select g.id from grants g where g.gone_at is not null and not exists (
    select 1 from ledger l where l.execution_id = g.execution_id and l.entitlement_id = g.entitlement_id and l.type = 'entitlement.revoked')`,
};

/** Returns what is wrong with the rows now, and the entitlements whose revocation is owed, as `identity role`. */
export async function readWrongs(house: House): Promise<{ found: { wrong: string; id: string }[]; owed: Set<string> }> {
  const { sql } = house.database;
  const query = Object.entries(never)
    .map(([wrong, text]) => `select '${wrong}' as wrong, wrong.id::text as id from (${text}) as wrong`)
    .join(' union all ');
  const [found, owed] = await Promise.all([
    sql.unsafe<{ wrong: string; id: string }[]>(query, [], { prepare: true }),
    sql<
      { identity: string; role: string }[]
    >`select identity, access ->> 'role' as role from entitlements where state <> 'absent'`,
  ]);
  return { found: [...found], owed: new Set(owed.map(({ identity, role }) => `${identity} ${role}`)) };
}
