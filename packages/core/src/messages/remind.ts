import { entitlements, grants, notices, reviews } from '@belay/db';
import { sql } from 'drizzle-orm';
import { isLiveIn, overAtIn } from '../access/wanted.js';
import type { Store } from '../context.js';

/** For how many overdue revocations, and how many overdue reviews, one pass writes notices. */
const most = 100;
const minute = 60_000;

/** How long before the end of access its holder is reminded, and whether also in quiet hours. */
const reminders = [
  { from: 15 * minute, to: 5 * minute, urgent: false },
  { from: 5 * minute, to: 0, urgent: true },
];

/**
 * Writes the notices that become due by time: of access that ends soon, of overdue revocations and reviews, and the
 * daily digest. Each has a key, so that every pass of every worker may write it. Reads only what is live or owed, by
 * its index.
 */
export async function writeReminders(ctx: Store): Promise<void> {
  const told = ctx.catalog.current().document.messages;
  if (!told) return;
  if (told.kinds.includes('access.ending')) for (const one of reminders) await remindOfEnd(ctx, one);
  if (told.kinds.includes('revocation.overdue') && told.operators.length > 0) await tellOverdue(ctx);
  if (told.kinds.includes('review.overdue')) await remindOfReviews(ctx);
  if (told.kinds.includes('requests.digest')) await writeDigest(ctx, told);
}

/** Returns when the grant in the row of this name ended, or ends. */
const endOf = (row: string) => sql`least(${sql.raw(row)}.ended_at, ${overAtIn(row)})`;
const end = endOf('g');
const milliseconds = (value: number) => sql`${`${value} milliseconds`}::interval`;

/**
 * Writes reminders of access that ends soon. Access that lasts less than twice the time of a reminder does not get it, and access that
 * another grant extends gets no reminder.
 */
async function remindOfEnd(ctx: Store, { from, to, urgent }: (typeof reminders)[number]): Promise<void> {
  await ctx.db.execute(sql`
    insert into ${notices} (key, kind, execution_id, user_id, ends_at, urgent)
    select 'access.ending:' || ${String(from)} || ':' || g.execution_id || ':' || extract(epoch from max(g.expires_at)),
      'access.ending', g.execution_id, g.user_id, max(g.expires_at), ${urgent}
    from ${grants} g
    where g.gone_at is null and ${end} > app_now() + ${milliseconds(to)} and ${end} <= app_now() + ${milliseconds(from)}
      and g.ended_at is null and g.activated_at is not null and g.duration >= ${2 * from}
      and not exists (select from ${grants} o where o.entitlement_id = g.entitlement_id and o.ended_at is null
        and coalesce(o.expires_at, o.activate_by) > g.expires_at)
    group by g.execution_id, g.user_id
    on conflict do nothing`);
}

/**
 * Writes a notice for each overdue revocation, by the grant whose end is late (`overdueOf`): for those that
 * `countOverdue` counts, and those that it leaves to `countElsewhere`. The second statement is for entitlements whose
 * grants are gone, but which a late grant call may have brought back.
 */
async function tellOverdue(ctx: Store): Promise<void> {
  const permitted = sql`app_now() - ${milliseconds(ctx.timing.overdue)}`;
  await ctx.db.execute(sql`
    insert into ${notices} (key, kind, execution_id, entitlement_id, urgent)
    select 'revocation.overdue:' || g.id, 'revocation.overdue', g.execution_id, g.entitlement_id, true
    from ${grants} g join ${entitlements} e on e.id = g.entitlement_id
    where g.gone_at is null and ${end} < ${permitted} and e.state <> 'absent'
      and not exists (select from ${grants} o where o.entitlement_id = g.entitlement_id and o.gone_at is null and (
        ${isLiveIn('o')}
        or o.activated_at is not null and (g.activated_at is null or (${endOf('o')}, o.id) > (${end}, g.id))
        or o.activated_at is null and g.activated_at is null and (${endOf('o')}, o.id) < (${end}, g.id)))
      and not exists (select from ${notices} n where n.key = 'revocation.overdue:' || g.id)
    limit ${most}
    on conflict do nothing`);
  const key = sql`'revocation.overdue:' || e.id || ':' || extract(epoch from e.last_grant_call_at)`;
  await ctx.db.execute(sql`
    insert into ${notices} (key, kind, execution_id, entitlement_id, urgent)
    select ${key}, 'revocation.overdue', g.execution_id, e.id, true
    from ${entitlements} e cross join lateral (
      select execution_id from ${grants} where entitlement_id = e.id order by gone_at desc limit 1) g
    where e.state <> 'absent' and e.failures > 0 and e.state = 'revoking'
      and e.last_grant_call_at + ${milliseconds(ctx.timing.quarantine)} < ${permitted}
      and not exists (select from ${grants} o where o.entitlement_id = e.id and o.gone_at is null)
      and not exists (select from ${notices} n where n.key = ${key})
    limit ${most}
    on conflict do nothing`);
}

/** Writes a notice when a review is overdue, and again every week until it is closed. */
async function remindOfReviews(ctx: Store): Promise<void> {
  const weeks = sql`floor(extract(epoch from app_now() - r.due_at) / extract(epoch from interval '7 days'))`;
  const key = sql`'review.overdue:' || r.id || ':' || ${weeks}`;
  await ctx.db.execute(sql`
    insert into ${notices} (key, kind, execution_id)
    select ${key}, 'review.overdue', r.execution_id from ${reviews} r
    where r.closed_at is null and r.due_at < app_now() and not exists (select from ${notices} n where n.key = ${key})
    limit ${most}
    on conflict do nothing`);
}

/**
 * Writes the daily digest, within four hours after its time: a worker that starts later than that writes none on this
 * day.
 */
async function writeDigest(ctx: Store, { digest, time_zone }: { digest: string; time_zone: string }): Promise<void> {
  const local = sql`(app_now() at time zone ${time_zone})`;
  await ctx.db.execute(sql`
    insert into ${notices} (key, kind)
    select 'requests.digest:' || ${local}::date, 'requests.digest'
    where ${local}::time >= ${digest}::time and ${local} < ${local}::date + ${digest}::time + interval '4 hours'
    on conflict do nothing`);
}
