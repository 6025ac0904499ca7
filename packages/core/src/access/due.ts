import { entitlements, execute, sqlText } from '@belay/db';
import { selectDueSteps } from '@belay/engine';
import type { Store } from '../context.js';

/** The maximum number of results per provider and of steps; `until` is set when a list reaches it. */
const most = 1_000;

/** What is due now or soon. */
export interface Due {
  /** The database's clock. */
  now: Date;
  /** The due times at each provider, in order. */
  entitlements: { provider: string; times: Date[] }[];
  steps: { executionId: string; key: string; dueAt: Date }[];
  /** After this time the result may be incomplete; null when everything within the look-ahead is included. */
  until: Date | null;
}

/**
 * Returns what is due now or within the look-ahead, so that workers find work that no job announced. The limit counts for
 * each provider and for the steps separately, so that many rows of one do not hide the others.
 */
export async function findDue(ctx: Store): Promise<Due> {
  const { now, entitlements, steps } = await readDue(ctx);
  const full = [...entitlements.map(({ times }) => times), steps.map(({ dueAt }) => dueAt)].filter(
    (times) => times.length >= most,
  );
  const ends = full.map((times) => Math.max(...times.map((time) => time.getTime())));
  return { now, entitlements, steps, until: ends.length === 0 ? null : new Date(Math.min(...ends)) };
}

/** Iterates over providers by the index, so that the number of rows of one provider does not matter. */
async function readDue(ctx: Store): Promise<Omit<Due, 'until'>> {
  const until = sqlText`app_now() + ${`${ctx.timing.lookAhead} milliseconds`}::interval`;
  const [row] = await execute<{ now: string; found: string; open: string }>(
    ctx.db,
    sqlText`
    with recursive providers as (
      select min(provider) as provider from ${entitlements} where state <> 'absent'
      union all
      select (select min(e.provider) from ${entitlements} e where e.state <> 'absent' and e.provider > providers.provider)
      from providers where providers.provider is not null),
    found as (
      select providers.provider, array_agg(due.at order by due.at) as times
      from providers cross join lateral (
        select floor(extract(epoch from due_at) * 1000)::bigint as at from ${entitlements} e
        where e.provider = providers.provider and state <> 'absent' and due_at <= ${until}
          and (lease_until is null or lease_until <= app_now())
        order by due_at limit ${most}) as due
      group by providers.provider),
    open as (${selectDueSteps(most, until)})
    select app_now() as now,
      (select coalesce(jsonb_agg(jsonb_build_object('provider', provider, 'times', times)), '[]') from found)::text as found,
      (select coalesce(
          jsonb_agg(jsonb_build_array(execution_id, key, floor(extract(epoch from due_at) * 1000)::bigint) order by due_at), '[]')
        from open)::text as open`,
  );
  const found = JSON.parse(row?.found ?? '[]') as { provider: string; times: number[] }[];
  const open = JSON.parse(row?.open ?? '[]') as [executionId: string, key: string, dueAt: number][];
  return {
    now: new Date(row?.now ?? 0),
    entitlements: found.map(({ provider, times }) => ({ provider, times: times.map((time) => new Date(time)) })),
    steps: open.map(([executionId, key, dueAt]) => ({ executionId, key, dueAt: new Date(dueAt) })),
  };
}
