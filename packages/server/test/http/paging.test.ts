import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

it('the documented shape stays; the next page is in `next` and in the header Link', async () => {
  const token = await world.token('requester');
  const get = (path: string) => callRest(world.url, 'GET', path, { token });
  const ids: string[] = [];
  for (const reason of ['one', 'two', 'three']) {
    const asked = await callRest(world.url, 'POST', '/elevate', { token, body: { role: 'reader', reason } });
    ids.unshift((asked.json.output as { execution_id: string }).execution_id);
  }
  const all = await get('/executions');
  expect([all.headers.link, all.json.next]).toEqual([undefined, null]);
  const read: string[] = [];
  let path: string | undefined = '/executions?limit=2';
  while (path !== undefined) {
    const page = await get(path);
    read.push(...(page.json.executions as { run_id: string }[]).map(({ run_id }) => run_id));
    const next = /^<\/api\/v1([^>]+)>; rel="next"$/.exec(String(page.headers.link ?? ''))?.[1];
    expect(next === undefined).toBe(page.json.next === null);
    path = next;
  }
  expect(read).toEqual(ids);
});

it('a wrong page is 400, naming the field', async () => {
  const token = await world.token('requester');
  for (const list of ['/executions', '/roles', '/provider/store/roles', '/provider/store/identities']) {
    for (const [query, field] of [
      ['limit=0', 'limit'],
      ['limit=501', 'limit'],
      ['limit=x', 'limit'],
      ['cursor=%00', 'cursor'],
      ['cursor=none-of-ours', 'cursor'],
      ['offset=1', 'offset'],
    ]) {
      const answer = await callRest(world.url, 'GET', `${list}?${query}`, { token });
      const [issue] = answer.json.issues as { path: string }[];
      expect([list, query, answer.status, issue?.path]).toEqual([list, query, 400, field]);
    }
  }
});

it('a search of a provider is ranked, and finds nothing where there is nothing', async () => {
  const token = await world.token('requester');
  const roles = async (q: string) =>
    (await callRest(world.url, 'GET', `/provider/store/roles?q=${encodeURIComponent(q)}`, { token })).json.roles;
  expect(await roles('READ')).toMatchObject([{ name: 'read' }]);
  expect(await roles('raed')).toEqual([]);
  expect(await roles("' or 1=1 --")).toEqual([]);
});
