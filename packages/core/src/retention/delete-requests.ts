import {
  approvals,
  comments,
  decisions,
  execute,
  executions,
  grants,
  messages,
  reviews,
  runs,
  type SqlText,
  sqlText,
  type Transaction,
  taskEvents,
  users,
} from '@belay/db';
import { deleteExecutions } from '@belay/engine';
import { grantsWait } from '../access/restore/gate.js';
import type { Context } from '../context.js';
import { notifying, writingLedger } from '../ledger/append.js';
import { familyOf } from '../request-family.js';
import { isOver } from './lines.js';

/** How many requests one transaction deletes, and the maximum number of such slices in one call. */
const slice = 100;
const mostSlices = 100;

/**
 * Deletes requests that have been over for the time of `server.retention.requests`, each with its extensions, and writes
 * their content to the ledger in the same transaction. Deletes nothing without this setting, or while a restored database
 * waits to be compared, and no request whose review of an emergency is open. Returns the number of deleted requests,
 * without extensions.
 */
export async function deleteRequests(ctx: Context): Promise<number> {
  const after = ctx.catalog.current().retention.requests;
  if (after === null) return 0;
  const before = sqlText`(app_now() - ${`${after} milliseconds`}::text::interval)`;
  let total = 0;
  for (let nth = 0; nth < mostSlices; nth += 1) {
    const deleted = await ctx.db.transaction(async (tx) => {
      const chosen = await choose(tx, before);
      if (chosen.length > 0) await move(tx, chosen);
      return chosen.length;
    });
    ctx.crashpoint('requests deleted');
    total += deleted;
    if (deleted < slice) break;
  }
  return total;
}

/**
 * Locks the first requests of families that are over, and returns their ids. A request with runs or messages has to wait
 * until `deleteSettled` has deleted those.
 */
async function choose(tx: Transaction, before: SqlText): Promise<string[]> {
  const rows = await execute<{ id: string }>(
    tx,
    sqlText`
    select e.id from ${executions} e
    where e.extends_id is null and e.created_at < ${before} and e.ended_at < ${before} and not ${grantsWait}
      and ${isOver(sqlText`e.id`, before)}
      and not exists (select from ${reviews} r where r.execution_id = e.id and r.closed_at is null)
      and (select count(*) = 0 from ${familyOf(sqlText`e.id`)} as member (id)
        where exists (select from ${runs} r where r.execution_id = member.id)
          or exists (select from ${messages} m where m.execution_id = member.id)
          or exists (select from ${messages} m join ${approvals} a on a.id = m.approval_id where a.execution_id = member.id))
    order by e.created_at, e.id limit ${slice} for update of e skip locked`,
  );
  return rows.map(({ id }) => id);
}

/** Writes the content of requests to the ledger, then deletes their rows. */
async function move(tx: Transaction, roots: readonly string[]): Promise<void> {
  const chosen = sqlText`${`{${roots.join(',')}}`}::text::uuid[]`;
  await execute(tx, sqlText`with told as (${writingLedger(entriesOf(chosen))}) ${notifying()}`);
  const members = await execute<{ id: string }>(
    tx,
    sqlText`select member.id from unnest(${chosen}) root (id) cross join lateral ${familyOf(sqlText`root.id`)} as member (id)`,
  );
  const ids = members.map(({ id }) => id);
  const given = sqlText`any(${`{${ids.join(',')}}`}::text::uuid[])`;
  await execute(
    tx,
    sqlText`delete from ${decisions} where approval_id in (select id from ${approvals} where execution_id = ${given})`,
  );
  for (const table of [approvals, grants])
    await execute(tx, sqlText`delete from ${table} where execution_id = ${given}`);
  // Comments and reviews are deleted with their execution, and in no other way.
  await deleteExecutions(tx, ids);
}

/** Returns the query for one ledger entry per request, with the rows that show what people did, and those of its extensions. */
function entriesOf(chosen: SqlText): SqlText {
  const all = (rows: SqlText) => sqlText`(select coalesce(jsonb_agg(to_jsonb(one)), '[]') from (${rows}) one)`;
  return sqlText`
    select 'request.deleted', 'info', 'A request that was over was deleted after the time for which requests are kept',
      '{"system": "retention"}'::jsonb, root.owner_id, null, root.id, null::uuid,
      jsonb_build_object('owner', (select email from ${users} where id = root.owner_id), 'requests', (
        select jsonb_agg(jsonb_build_object(
          'id', e.id, 'workflow', e.workflow, 'definition_digest', e.definition_digest, 'catalog_version', e.catalog_version,
          'input', e.input, 'status', e.status, 'output', e.output, 'fault', e.fault, 'extends_id', e.extends_id,
          'created_at', e.created_at, 'started_at', e.started_at, 'ended_at', e.ended_at,
          'approvals', ${all(sqlText`select * from ${approvals} a where a.execution_id = e.id order by a.created_at`)},
          'decisions', ${all(sqlText`
            select d.*, u.email from ${decisions} d join ${approvals} a on a.id = d.approval_id
            join ${users} u on u.id = d.approver_id where a.execution_id = e.id order by d.decided_at`)},
          'comments', ${all(sqlText`
            select c.*, u.email from ${comments} c join ${users} u on u.id = c.author_id
            where c.execution_id = e.id order by c.created_at`)},
          'reviews', ${all(sqlText`
            select r.*, u.email from ${reviews} r left join ${users} u on u.id = r.closed_by
            where r.execution_id = e.id order by r.opened_at`)},
          'grants', ${all(sqlText`select * from ${grants} g where g.execution_id = e.id order by g.created_at`)},
          'task_events', ${all(sqlText`
            select t.seq, t.nth, t.at, t.events from ${taskEvents} t where t.execution_id = e.id order by t.seq`)}
        ) order by e.created_at, e.id)
        from ${executions} e where e.id in ${familyOf(sqlText`root.id`)}))
    from ${executions} root where root.id = any(${chosen}) order by root.created_at, root.id`;
}
