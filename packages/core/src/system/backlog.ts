import { approvals, entitlements, steps } from '@belay/db';
import { type SQL, sql } from 'drizzle-orm';
import type { Store } from '../context.js';

export interface Backlog {
  waitingApprovals: number;
  oldestApprovalSeconds: number;
  dueWork: number;
  queueLagSeconds: number;
  failingProviders: number;
}

/** The maximum that is counted, so that the count stays cheap when there is much work. */
const most = 10_000;
/** The same for approvals; also how many of the oldest are read to find one that can still be decided. */
const mostApprovals = 1_000;

/**
 * Returns the work that waits: approvals for people (a thousand at most), and due steps and entitlements that no worker has
 * claimed. Also counts the providers whose latest call failed. Times are the age of the oldest in seconds; 0 when nothing waits.
 */
export async function readBacklog(ctx: Store): Promise<Backlog> {
  const [row] = await ctx.db.execute<{ [Name in keyof Backlog]: number }>(sql`
    with recursive due as (
      (select ${takeableAt} as since from ${steps} where status = 'open' and kind <> 'event' and ${isTakeable} limit ${most})
      union all
      (select ${takeableAt} as since from ${entitlements} where state <> 'absent' and ${isTakeable} limit ${most})),
    waiting as (
      select created_at from ${approvals} where status = 'open' and expires_at > app_now() order by expires_at limit ${mostApprovals}),
    -- Usually the first row of the subquery has not expired, because a worker closes expired approvals within seconds.
    oldest as (
      select created_at from (
        select created_at, expires_at from ${approvals} where status = 'open' order by created_at limit ${mostApprovals}) as first
      where expires_at > app_now() order by created_at limit 1),
    -- One provider after the other along the index, so that the number of its failing calls does not matter.
    failing as (
      select min(provider) as provider from ${entitlements} where ${isFailing}
      union all
      select (select min(provider) from ${entitlements} where ${isFailing} and provider > failing.provider)
      from failing where failing.provider is not null)
    select (select count(*) from waiting)::int as "waitingApprovals",
      ${ageOf(sql`coalesce((select created_at from oldest), (select min(created_at) from waiting))`)} as "oldestApprovalSeconds",
      (select least(count(*), ${most}) from due)::int as "dueWork",
      ${ageOf(sql`(select min(since) from due)`)} as "queueLagSeconds",
      (select count(provider) from failing)::int as "failingProviders"`);
  return row ?? { waitingApprovals: 0, oldestApprovalSeconds: 0, dueWork: 0, queueLagSeconds: 0, failingProviders: 0 };
}

const isFailing = sql`state <> 'absent' and failures > 0`;

const isTakeable = sql`due_at <= app_now() and (lease_until is null or lease_until <= app_now())`;

/** Work whose lease has expired has waited since the lease ended, and not since it was first due. */
const takeableAt = sql`greatest(due_at, lease_until)`;

function ageOf(since: SQL): SQL {
  return sql`coalesce(greatest(0, extract(epoch from app_now() - ${since})), 0)::float8`;
}
