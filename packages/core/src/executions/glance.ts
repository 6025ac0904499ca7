import { isOutage } from '@belay/contract/outage';
import { type Database, executions, grants, ledger, rangeOf, taskEvents, watches } from '@belay/db';
import { taskEventsPerRow } from '@belay/engine';
import { sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { noteOutage } from '../outage.js';
import { gather } from './gather.js';

/** An execution, and the number after which its events may be new. */
export interface Glance {
  id: string;
  after: number;
}

export interface Glances {
  /**
   * Returns a text that changes whenever something changes that a watcher would see. One query serves all executions
   * that are checked within a moment: most checks find nothing, so they must be cheap.
   */
  at(glance: Glance): Promise<string | undefined>;
  /** Marks an execution as watched for a while, for every process, and deletes old marks. */
  mark(id: string): Promise<unknown>;
}

/**
 * How long checks are gathered for one query, in milliseconds. The delay does no harm: checks are only for changes without a notification.
 */
const moment = 200;
const most = 500;

const known = new WeakMap<Database, Glances>();

/** Returns the checks that all readers in this process share. */
export function glancesOf(ctx: Store): Glances {
  const glances = known.get(ctx.db) ?? {
    at: gather({
      pause: () => ctx.delay(moment),
      most,
      answer: (asked: readonly Glance[]) => said(ctx, glance(ctx, asked)),
    }),
    mark: gather({
      pause: () => new Promise<void>((resolve) => setImmediate(resolve)),
      most,
      answer: (ids: readonly string[]) => said(ctx, mark(ctx, ids)),
    }),
  };
  known.set(ctx.db, glances);
  return glances;
}

/** Logs a failure once for all waiting checks. */
async function said<T>(ctx: Store, answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    if (isOutage(error)) noteOutage(ctx, error);
    else ctx.log.warn({ error }, 'the executions that are watched could not be read');
    throw error;
  });
}

async function glance({ db }: Store, asked: readonly Glance[]): Promise<string[]> {
  const found = await db.execute<{ id: string; state: string }>(sql`
    select asked.id, concat_ws(
      ' ', e.status, e.ended_at is not null,
      exists (select 1 from ${grants} g where g.execution_id = asked.id and g.gone_at is null),
      (select concat_ws(' ', count(*), max(l.seq)) from ${ledger} l
       where l.execution_id = asked.id and ${rangeOf(sql`l.seq`)} >= ${rangeOf(sql`asked.after`)} and l.seq > asked.after),
      (select concat_ws(' ', count(*), max(t.seq)) from ${taskEvents} t
       where t.execution_id = asked.id and t.seq > asked.after - ${taskEventsPerRow}::int)
    ) as state
    from json_to_recordset(${JSON.stringify(asked)}::text::json) as asked (id uuid, after bigint)
    left join ${executions} e on e.id = asked.id`);
  const states = new Map(found.map(({ id, state }) => [id, state]));
  return asked.map(({ id }) => states.get(id) ?? '');
}

async function mark({ db, timing }: Store, ids: readonly string[]): Promise<[]> {
  const lifetime = sql`${`${timing.watchMark} milliseconds`}::text::interval`;
  await db.execute(sql`
    with marked as (
      insert into ${watches} (execution_id, until)
      select distinct id::uuid, app_now() + ${lifetime} from json_array_elements_text(${JSON.stringify(ids)}::text::json) id
      order by 1
      on conflict (execution_id) do update set until = excluded.until
    )
    delete from ${watches} where until < app_now() - ${lifetime}
      and execution_id not in (select id::uuid from json_array_elements_text(${JSON.stringify(ids)}::text::json) id)`);
  return [];
}
