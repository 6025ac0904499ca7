import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from '../http/support/caller.js';

/** Attacks by number: one person makes as many requests as possible. */

let world: World;
let requester: string;
let approver: string;
beforeAll(async () => {
  world = await createWorld({ server: { limits: { open_requests: 5 } } });
  requester = await world.token('requester');
  approver = await world.token('approver');
});
afterAll(() => world[Symbol.asyncDispose]());

const elevate = (token: string) =>
  callRest(world.url, 'POST', '/elevate', { token, body: { role: 'reader', reason: 'A quiet matter' } });

describe('a person who requests without end', () => {
  it('is rejected beyond the limit, under every login, with the reason and when to come back', async () => {
    const second = await world.token('requester', 'device');
    const statuses = await Promise.all(
      Array.from({ length: 9 }, (_, index) => elevate(index % 2 ? requester : second)),
    );
    expect(statuses.filter(({ status }) => status === 429)).toHaveLength(4);
    const refused = await elevate(second);
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '60']);
    expect(refused.json).toMatchObject({
      code: 'TOO_MANY_REQUESTS',
      message: expect.stringContaining('5 open requests'),
    });
    await world.drive();
  });

  it('folds the rest of their requests in the inbox, and leaves every one to be decided by its id', async () => {
    const page = await callRest(world.url, 'GET', '/approvals', { token: approver, headers: { accept: 'text/html' } });
    expect(page.body).toContain('2 more from Rita');
    const { json } = await callRest(world.url, 'GET', '/approvals?limit=1', { token: approver });
    expect(json).toMatchObject({ total: 5, requesters: [{ email: 'rita@example.test', waiting: 5 }] });
    expect(json.approvals).toHaveLength(1);
    const { json: rest } = await callRest(world.url, 'GET', `/approvals?limit=4&cursor=${String(json.next)}`, {
      token: approver,
    });
    const last = (rest.approvals as { id: string }[]).at(-1)?.id ?? '';
    const decided = await callRest(world.url, 'POST', `/approvals/${last}/decision`, {
      token: approver,
      body: { verdict: 'deny' },
    });
    expect(decided.status).toBe(200);
    // One request fewer is open, so one more may be made.
    await world.drive();
    expect((await elevate(requester)).status).toBe(200);
  });
});
