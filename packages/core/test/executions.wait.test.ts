import { type WaitTarget, waitForExecution } from '@belay/core';
import { expect, it } from 'vitest';
import { collectMemory } from '../../../test/support/collect-memory.js';
import { approve, ask, deny, openCast, request } from './support/stories.js';

it('a wait ends when the request has come so far, at once when it is over, and at the end of its time', async () => {
  await using cast = await openCast();
  const { house, ada, grace, mallory } = cast;
  const { signal } = new AbortController();
  const wait = async (id: string, until: WaitTarget, time = 'PT20S') =>
    (await waitForExecution(ada, { id, until, wait: time, signal })).state;

  const id = await request(ada);
  const opening = wait(id, 'approval');
  await house.work();
  expect(await opening).toBe('waiting_for_approval');
  expect(await wait(id, 'decision', 'PT0.2S')).toBe('waiting_for_approval');
  const activating = wait(id, 'active');
  await approve(grace, id);
  await house.work();
  expect(await activating).toBe('active');
  const ending = wait(id, 'ended');
  await house.pass(60 * 60_000);
  expect(await ending).toBe('ended');

  const denied = await ask(house, ada);
  await deny(grace, denied);
  await house.work();
  expect(await wait(denied, 'active')).toBe('denied');

  await expect(wait(denied, 'active', 'PT31S')).rejects.toMatchObject({ code: 'invalid', issues: [{ path: 'wait' }] });
  await expect(waitForExecution(ada, { id, wait: 'PT1S', signal })).rejects.toMatchObject({
    issues: [{ path: 'wait' }],
  });
  await expect(waitForExecution(mallory, { id, until: 'ended', signal })).rejects.toMatchObject({ code: 'not_found' });
});

it('a wait ends at its time although memory is collected meanwhile', async () => {
  await using cast = await openCast();
  const id = await ask(cast.house, cast.ada);
  using _ = collectMemory();
  const { signal } = new AbortController();
  const found = await waitForExecution(cast.ada, { id, until: 'ended', wait: 'PT1S', signal });
  expect(found.state).toBe('waiting_for_approval');
});
