import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

describe('what a person wants to be told, over HTTP', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it('is read and replaced at /preferences, by the person alone', async () => {
    const token = await world.token('requester');
    const call = (method: string, body?: object) =>
      callRest(world.url, method, '/preferences', { token, ...(body && { body }) });
    expect((await call('GET')).json).toMatchObject({ channels: null, muted: [], quiet_hours: null });
    const chosen = {
      channels: null,
      muted: ['access.ended'],
      quiet_hours: { from: '22:00', to: '07:00', time_zone: 'Europe/Berlin' },
    };
    const put = await call('PUT', chosen);
    expect([put.status, put.json]).toMatchObject([200, chosen]);
    expect((await call('GET')).json).toMatchObject(chosen);
    const wrong = await call('PUT', { ...chosen, muted: ['everything'] });
    expect([wrong.status, JSON.stringify(wrong.json)]).toEqual([400, expect.stringContaining('muted')]);
    expect((await callRest(world.url, 'GET', '/preferences', {})).status).toBe(401);
  });
});
