import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

it('shows a request whose access is held as active, in JSON and on every page that lists it', async () => {
  const [rita, adam] = [await world.token('requester'), await world.token('approver')];
  const call = (method: string, path: string, options = {}) => callRest(world.url, method, path, options);
  const asked = await call('POST', '/elevate', { token: rita, body: { role: 'reader', reason: 'An incident' } });
  const id = (asked.json.output as { execution_id: string }).execution_id;
  const badges = async (path: string) => {
    const page = await call('GET', path, { headers: { cookie: `belay=${rita}`, accept: 'text/html' } });
    return [...page.body.matchAll(/class="badge \w+">([^<]+)</g)].map(([, text]) => text);
  };
  await world.drive();
  expect((await call('GET', `/execution/${id}`, { token: rita })).json).toMatchObject({
    state: 'waiting_for_approval',
  });
  expect(await badges('/executions')).toEqual(['Waiting for approval']);
  const body = { verdict: 'approve' };
  expect((await call('POST', `/approvals/${id}/decision`, { token: adam, body })).status).toBe(200);
  await world.drive();
  const list = await call('GET', '/executions', { token: rita });
  expect(list.json).toMatchObject({ executions: [{ workflow_id: id, status: 'waiting', state: 'active' }] });
  for (const path of ['/executions', '/home', '/access']) {
    const shown = await badges(path);
    expect(shown, path).toContain('Active');
    expect(shown.join(), path).not.toMatch(/Waiting/);
  }
});
