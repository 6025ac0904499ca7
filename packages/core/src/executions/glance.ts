import type { Execution } from '@belay/contract/executions';
import { isOutage } from '@belay/contract/outage';
import { type Database, execute, executions, grants, ledger, sqlText, taskEvents, watches } from '@belay/db';
import { taskEventsPerRow } from '@belay/engine';
import type { Store } from '../context.js';
import { noteOutage } from '../outage.js';
import { gather } from './gather.js';
import { rangeIn } from './history.js';
import { readStates } from './state.js';

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
  /**
   * Returns the state and the status of an execution; undefined when it does not exist. One query serves all executions that are
   * checked in one turn of the event loop.
   */
  stateOf(id: string): Promise<States | undefined>;
  /** Does the same for a check without a notification: one query serves all executions that are checked within a moment. */
  laterStateOf(id: string): Promise<States | undefined>;
  /**
   * Marks an execution as watched for a while, for every process, so that changes are notified, and deletes old marks. Does nothing
   * while a mark of this process is not old.
   */
  mark(id: string): Promise<unknown>;
  /** Returns whether changes of an execution are notified already, because a mark of this process is not old. */
  isMarked(id: string): boolean;
}

type States = Pick<Execution, 'state' | 'status'>;

/**
 * How long checks are gathered for one query, in milliseconds. The delay does no harm: checks are only for changes without a notification.
 */
const moment = 200;
const most = 500;
/** When this many marks are remembered, the old ones are forgotten. */
const remembered = 1_000;

const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));

const known = new WeakMap<Database, Glances>();

/** Returns the checks that all readers in this process share. */
export function glancesOf(ctx: Store): Glances {
  const glances = known.get(ctx.db) ?? openGlances(ctx);
  known.set(ctx.db, glances);
  return glances;
}

function openGlances(ctx: Store): Glances {
  const later = () => ctx.delay(moment);
  const look = (ids: readonly string[]) => said(ctx, readStatesOf(ctx, ids));
  return {
    at: gather({ pause: later, most, answer: (asked: readonly Glance[]) => said(ctx, glance(ctx, asked)) }),
    stateOf: gather({ pause: nextTurn, most, answer: look }),
    laterStateOf: gather({ pause: later, most, answer: look }),
    ...openMarks(ctx),
  };
}

/** Remembers the marks of this process, so that one call after the other for the same execution marks it only once. */
function openMarks(ctx: Store): Pick<Glances, 'mark' | 'isMarked'> {
  const marks = new Map<string, { at: number; done: boolean; made: Promise<unknown> }>();
  const write = gather({ pause: nextTurn, most, answer: (ids: readonly string[]) => said(ctx, mark(ctx, ids)) });
  const isOld = (at: number, now: number) => Math.abs(now - at) >= ctx.timing.watchMark / 2;
  return {
    mark(id) {
      const now = ctx.clock().getTime();
      const known = marks.get(id);
      if (known && !isOld(known.at, now)) return known.made;
      if (marks.size >= remembered) for (const [one, { at }] of marks) if (isOld(at, now)) marks.delete(one);
      const made = { at: now, done: false, made: write(id) };
      marks.set(id, made);
      made.made.then(
        () => {
          made.done = true;
        },
        () => void (marks.get(id) === made && marks.delete(id)),
      );
      return made.made;
    },
    isMarked(id) {
      const known = marks.get(id);
      return known?.done === true && !isOld(known.at, ctx.clock().getTime());
    },
  };
}

async function readStatesOf(ctx: Store, ids: readonly string[]): Promise<(States | undefined)[]> {
  const states = await readStates(ctx, [...new Set(ids)]);
  return ids.map((id) => states.get(id));
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
  const found = await execute<{ id: string; state: string }>(
    db,
    sqlText`
    select asked.id, concat_ws(
      ' ', e.status, e.ended_at is not null,
      exists (select 1 from ${grants} g where g.execution_id = asked.id and g.gone_at is null),
      (select concat_ws(' ', count(*), max(l.seq)) from ${ledger} l
       where l.execution_id = asked.id and ${rangeIn(sqlText`l.seq`)} >= ${rangeIn(sqlText`asked.after`)}
         and l.seq > asked.after),
      (select concat_ws(' ', count(*), max(t.seq)) from ${taskEvents} t
       where t.execution_id = asked.id and t.seq > asked.after - ${taskEventsPerRow}::int)
    ) as state
    from json_to_recordset(${JSON.stringify(asked)}::text::json) as asked (id uuid, after bigint)
    left join ${executions} e on e.id = asked.id`,
  );
  const states = new Map(found.map(({ id, state }) => [id, state]));
  return asked.map(({ id }) => states.get(id) ?? '');
}

async function mark({ db, timing }: Store, ids: readonly string[]): Promise<[]> {
  const lifetime = sqlText`${`${timing.watchMark} milliseconds`}::text::interval`;
  const marked = sqlText`select distinct id::uuid from json_array_elements_text(${JSON.stringify(ids)}::text::json) id`;
  await execute(
    db,
    sqlText`
    with marked as (
      insert into ${watches} (execution_id, until)
      select id, app_now() + ${lifetime} from (${marked}) as marked order by 1
      on conflict (execution_id) do update set until = excluded.until
    )
    delete from ${watches} where until < app_now() - ${lifetime} and execution_id not in (${marked})`,
  );
  return [];
}
