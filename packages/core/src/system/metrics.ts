import { formatDuration } from '@belay/contract/durations';
import { AccessError } from '@belay/contract/errors';
import type { Metrics } from '@belay/contract/system';
import { executions } from '@belay/db';
import { sql } from 'drizzle-orm';
import { countDrifts } from '../access/drift.js';
import { readGate } from '../access/restore/gate.js';
import type { Store } from '../context.js';
import {
  countDisabledChannels,
  countDoubted,
  countElsewhere,
  countFailing,
  countOverdue,
  countOverdueReviews,
  countUndelivered,
  readArchiveOverdue,
} from './alarms.js';
import { answerInTime } from './answer-in-time.js';
import { readBacklog } from './backlog.js';

/**
 * Returns the interface's counters (GET /metrics). `total_requests` counts the HTTP requests to this process;
 * `elevate_requests` counts the stored executions, estimated when there are many. Throws `unavailable` when the
 * database does not respond.
 */
export async function readMetrics(
  ctx: Store,
  input: { uptimeMilliseconds: number; requests: number; droppedJobs?: number },
): Promise<Metrics> {
  const catalog = ctx.catalog.current();
  const count = () =>
    Promise.all([
      // An exact count would grow with history, so small tables are counted and large ones estimated. A table that was
      // not analysed yet has no estimate, and is counted up to the size of a small one.
      ctx.db.execute<{ count: number }>(sql`
      select case when estimate < 10000 then (select count(*) from (select from ${executions} limit 10000) as first) else estimate end::int as count
      from (select reltuples::bigint as estimate from pg_class where oid = 'executions'::regclass) as planner`),
      countOverdue(ctx),
      countElsewhere(ctx),
      countDoubted(ctx),
      countFailing(ctx),
      countUndelivered(ctx),
      countDisabledChannels(ctx),
      readBacklog(ctx),
      readGate(ctx),
      readArchiveOverdue(ctx),
      countDrifts(ctx),
      countOverdueReviews(ctx),
    ]);
  const [
    [counted],
    overdue,
    elsewhere,
    doubted,
    failing,
    undelivered,
    disabled,
    backlog,
    gate,
    archive,
    drifted,
    reviews,
  ] = await answerInTime(ctx, count, () => {
    throw new AccessError('unavailable', 'The database does not respond');
  });
  return {
    uptime: formatDuration(input.uptimeMilliseconds),
    total_requests: input.requests,
    roles_count: catalog.roles.size,
    workflows_count: catalog.workflows.size,
    providers_count: catalog.providers.size,
    elevate_requests: counted?.count ?? 0,
    overdue_revocations: overdue + elsewhere + doubted,
    failing_executions: failing,
    failing_providers: backlog.failingProviders,
    undelivered_messages: undelivered,
    disabled_channels: disabled,
    waiting_approvals: backlog.waitingApprovals,
    oldest_approval_seconds: backlog.oldestApprovalSeconds,
    due_work: backlog.dueWork,
    queue_lag_seconds: backlog.queueLagSeconds,
    grants_waiting_for_restore: gate ? 1 : 0,
    archive_overdue_seconds: archive,
    drifted_access: drifted,
    overdue_reviews: reviews,
    dropped_jobs: input.droppedJobs ?? 0,
  };
}
