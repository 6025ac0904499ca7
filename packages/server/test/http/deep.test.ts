import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, expect, it } from 'vitest';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** JSON with 100,000 levels, which fits into the largest body. */
const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
const event = `{"execution_id":"x","event":{"type":"x","data":${deep}}}`;
const role = `{"role":{"name":"reader","grants":${deep}},"reason":"x"}`;

it.each([
  ['/api/v1/elevate/resume/token', event],
  ['/api/v1/elevate', role],
  ['/api/v1/elevate', `{"permissions":${deep},"reason":"x"}`],
  ['/trpc/elevation.prepareResume', event],
  ['/trpc/elevation.request', role],
])('deeply nested JSON is rejected before it is traversed: %s', async (path, body) => {
  const token = await world.token('requester');
  const answer = await send(`${world.url}${path}`, {
    method: 'POST',
    body,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    },
  });
  expect([answer.status, answer.body]).toEqual([400, expect.stringContaining('levels deep')]);
});
