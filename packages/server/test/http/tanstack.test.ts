import { createClient } from '@belay/sdk';
import { createWorld, type World } from '@belay/testkit/world';
import { MutationObserver, QueryClient, QueryObserver } from '@tanstack/query-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBelay } from '../../../../examples/tanstack-query/belay.js';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

it('the example of TanStack Query lists roles, requests one, follows it and gives it back', async () => {
  const belay = createBelay({ url: world.url, token: await world.token('requester') });
  const queries = new QueryClient();
  const { roles } = await queries.fetchQuery(belay.roles);
  expect(Object.keys(roles)).toEqual(['reader']);
  const asked = { role: 'reader', reason: 'An incident', duration: 'PT5M', key: 'key-1' };
  const { output } = await new MutationObserver(queries, belay.elevate).mutate(asked);
  await world.drive();
  const request = new QueryObserver(queries, belay.request(output.execution_id));
  const stop = request.subscribe(() => {});
  await expect.poll(() => request.getCurrentResult().data?.state).toBe('waiting_for_approval');
  expect(await new MutationObserver(queries, belay.elevate).mutate(asked)).toMatchObject({ output });
  const refused = new MutationObserver(queries, belay.giveBack).mutate('0198c6b4-0000-7000-8000-000000000000');
  await expect(refused).rejects.toMatchObject({ data: { code: 'NOT_FOUND', httpStatus: 404, reason: 'not_found' } });
  stop();
  queries.clear();
});

it('the example of TanStack Query reads a request again until it is over', async () => {
  const belay = createBelay({ url: world.url, token: await world.token('requester') });
  const queries = new QueryClient();
  const asked = { role: 'reader', reason: 'An incident', duration: 'PT5M', key: 'key-2' };
  const { output } = await new MutationObserver(queries, belay.elevate).mutate(asked);
  await world.drive();
  const request = new QueryObserver(queries, belay.request(output.execution_id));
  const stop = request.subscribe(() => {});
  await expect.poll(() => request.getCurrentResult().data?.state).toBe('waiting_for_approval');
  const { queryKey, refetchInterval } = belay.request(output.execution_id);
  const query = queries.getQueryCache().find<{ state: string }>({ queryKey });
  if (!query) throw new Error('not in the cache');
  expect(refetchInterval(query)).toBe(2_000);
  const client = createClient({ url: world.url, token: await world.token('requester', 'device') });
  await client.executions.cancel(output.execution_id);
  await world.drive();
  await request.refetch();
  expect([query.state.data?.state, refetchInterval(query)]).toEqual(['cancelled', false]);
  stop();
  queries.clear();
});
