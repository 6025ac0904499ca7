import { requestElevation } from '@belay/core';
import { createHouse } from '@belay/testkit/house';
import { sweep } from '@belay/testkit/sweep';
import { expect, it, vi } from 'vitest';
import { type Keeper, keeperHouse } from '../../core/test/support/keeper.js';
import { openQueueBackend } from '../src/open-backend.js';
import { startWorker } from '../src/start.js';
import { recordLog } from './support/context.js';
import { createDatabase } from './support/transports.js';

it('stands by from the first sweep of a worker that starts while something is held', async () => {
  const { options, keepers } = keeperHouse(['kept', 'other']);
  const [kept, other] = keepers as [Keeper, Keeper];
  await using house = await createHouse(options);
  const ada = await house.person('ada', ['engineers']);
  await requestElevation(ada, { role: 'reader', reason: 'a ticket', workflow: 'automatic', duration: 'PT30M' });
  await sweep(house.ctx);
  expect(kept.state.held()).toHaveLength(1);
  kept.calls.length = 0;

  const queue = await createDatabase();
  const backend = await openQueueBackend({ databaseUrl: queue.url.href, log: recordLog() });
  // With this interval the worker sweeps once, at its start.
  const worker = await startWorker({ context: house.ctx, backend, sweepMilliseconds: 3_600_000 });
  try {
    await vi.waitFor(() => expect(kept.calls).toEqual(['standBy']), { timeout: 30_000 });
    expect(other.calls).toEqual([]);
  } finally {
    await worker.stop();
    await backend.close();
    await queue.drop();
  }
});

it('stands by repeatedly, and not after the worker has stopped', async () => {
  const { options, keepers } = keeperHouse(['kept', 'other']);
  const [kept] = keepers as [Keeper, Keeper];
  await using house = await createHouse(options);
  const ada = await house.person('ada', ['engineers']);
  await requestElevation(ada, { role: 'reader', reason: 'a ticket', workflow: 'automatic', duration: 'PT30M' });
  await sweep(house.ctx);
  const queue = await createDatabase();
  const backend = await openQueueBackend({ databaseUrl: queue.url.href, log: recordLog() });
  const worker = await startWorker({ context: house.ctx, backend, sweepMilliseconds: 20 });
  await vi.waitFor(() => expect(kept.calls.length).toBeGreaterThan(3), { timeout: 30_000 });
  await worker.stop();
  const { length } = kept.calls;
  await backend.close();
  await queue.drop();
  expect(kept.calls).toHaveLength(length);
});
