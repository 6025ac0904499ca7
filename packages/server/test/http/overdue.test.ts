import { publicProcedure, router } from '@belay/api';
import { type Context, timing } from '@belay/core';
import { delay } from '@belay/program';
import { type Served, send, serve } from '@belay/testkit/serve';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';

const limit = 1_000;
const context = {
  newId: () => 'an-id-of-ours',
  program: { version: '0.1.0', revision: 'test', baseUrl: '' },
  timing: { ...timing, response: { ...timing.response, limit } },
  delay,
  clock: () => new Date(),
} as unknown as Context;

/** The promise that the procedures wait for, which the test settles. */
let work: { done: Promise<void>; resolve(): void; reject(error: Error): void };
function begin() {
  let settle = { resolve: () => {}, reject: (_: Error) => {} };
  const done = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  work = { done, ...settle };
}
const meta = (path: `/${string}`) => ({ openapi: { method: 'GET' as const, path }, rest: { public: true } });
const output = z.object({ done: z.boolean() });
const ended = async () => {
  await work.done;
  return { done: true };
};
const works = router({
  work: publicProcedure.meta(meta('/work')).output(output).query(ended),
  wait: publicProcedure
    .meta(meta('/wait'))
    .output(output)
    .query(({ ctx }) => {
      ctx.stayOpen?.(60_000);
      return ended();
    }),
});

describe('a request that takes longer than its limit', () => {
  let served: Served;
  let waited: number;
  let checks: number;
  beforeEach(async () => {
    begin();
    waited = 10_000;
    checks = 0;
    const databaseWait = () => {
      checks += 1;
      return waited;
    };
    served = await serve({ context, router: works, databaseWait });
  });
  afterEach(() => served[Symbol.asyncDispose]());
  const errors = () => served.lines.flatMap(({ level, message }) => (level === 'error' ? [message] : []));
  const outage = 'the database cannot be reached; requests are rejected with 503 meanwhile';

  it.each(['/api/v1/work', '/trpc/work'])(
    'is 503 with Retry-After and a request id at %s while the database waits, and its late result harms nothing',
    async (path) => {
      const answer = await send(`${served.url}${path}`);
      expect(answer).toMatchObject({
        status: 503,
        headers: { 'retry-after': '5', 'x-request-id': expect.any(String) },
      });
      expect(answer.body).toContain('The service is temporarily unavailable; try again');
      work.resolve();
      // When this later request has ended, the late result has been handled too.
      expect((await send(`${served.url}${path}`)).status).toBe(200);
      expect(errors()).toEqual([outage]);
    },
  );

  it('is in the log when its work fails after the response', async () => {
    expect((await send(`${served.url}/api/v1/work`)).status).toBe(503);
    work.reject(new Error('a defect'));
    await vi.waitFor(() => expect(errors()).toEqual([outage, 'request failed']), { timeout: 30_000 });
  });

  it.each([
    ['the database does not keep it waiting', '/work', 499],
    ['it said for how long it waits for something else', '/wait', 10_000],
  ])('ends with its result when %s', async (_, path, milliseconds) => {
    waited = milliseconds;
    const answer = send(`${served.url}/api/v1${path}`);
    // Checks run every 250 ms, so eight of them take twice the limit.
    await vi.waitFor(() => expect(checks).toBeGreaterThan(8), { timeout: 30_000 });
    work.resolve();
    expect(await answer).toMatchObject({ status: 200, body: '{"done":true}' });
  });
});
