import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readMetrics } from '../src/system/metrics.js';
import { approve, type Cast, minute, openCast, request, second } from './support/stories.js';

describe('what waits, in the counters', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast();
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const read = () => readMetrics(cast.house.ctx, { uptimeMilliseconds: 1, requests: 1 });

  it('are approvals without a decision, and how long the oldest has waited', async () => {
    const { house, ada, grace } = cast;
    const first = await request(ada);
    await house.work();
    await house.pass(10 * minute);
    await request(ada, { duration: 'PT10M' });
    await house.work();
    expect(await read()).toMatchObject({ waiting_approvals: 2, oldest_approval_seconds: 600 });
    await approve(grace, first);
    expect(await read()).toMatchObject({ waiting_approvals: 1, oldest_approval_seconds: 0 });
    // It has expired, so no approver can decide, though no worker has closed it yet.
    await house.database.sql`update approvals set expires_at = app_now() where status = 'open'`;
    expect(await read()).toMatchObject({ waiting_approvals: 0, oldest_approval_seconds: 0 });
  });

  it('is work that no worker takes, since when it could be taken', async () => {
    const { house, ada } = cast;
    expect(await read()).toMatchObject({ due_work: 0, queue_lag_seconds: 0 });
    await request(ada, { workflow: 'automatic' });
    const { due_work: due } = await read();
    expect(due).toBeGreaterThan(0);
    // Time passes without a worker.
    await house.database.advance(90 * second);
    expect(await read()).toMatchObject({ due_work: due, queue_lag_seconds: 90 });
    // Claimed work does not wait. It waits again from the end of the lease, and not from before it.
    await house.database.sql`update steps set lease_until = app_now() + interval '10 seconds' where status = 'open'`;
    await house.database.sql`update entitlements set lease_until = app_now() + interval '10 seconds'`;
    expect(await read()).toMatchObject({ due_work: 0, queue_lag_seconds: 0 });
    await house.database.advance(15 * second);
    expect(await read()).toMatchObject({ due_work: due, queue_lag_seconds: 5 });
    await house.work();
    expect(await read()).toMatchObject({ due_work: 0, queue_lag_seconds: 0 });
  });

  it('are providers that fail, until they answer again', async () => {
    const { house, ada } = cast;
    house.provider.inject('ensurePresent', { kind: 'throttle' });
    await request(ada, { workflow: 'automatic' });
    await house.work();
    expect(await read()).toMatchObject({ failing_providers: 1, due_work: 0, queue_lag_seconds: 0 });
    await house.pass(minute);
    expect(await read()).toMatchObject({ failing_providers: 0 });
  });
});
