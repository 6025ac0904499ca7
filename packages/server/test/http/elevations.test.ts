import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

describe('several roles in one call', () => {
  let world: World;
  let token: string;
  beforeAll(async () => {
    world = await createWorld({
      change: (document) => ({
        ...document,
        roles: {
          ...document.roles,
          auditor: { ...document.roles.reader, reason: { required: true, pattern: '^AUD-' } },
        },
      }),
    });
    token = await world.token('requester');
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const request = (body: object, headers: Record<string, string> = {}) =>
    send(`${world.url}/api/v1/elevations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });

  it('become a request each, and one that is rejected rejects no other', async () => {
    const answer = await request({ roles: ['store:reader', 'auditor', 'secret', 'no-such'], reason: 'An incident' });
    expect(answer.status).toBe(200);
    const { results, ...counts } = JSON.parse(answer.body) as { results: { execution_id: string | null }[] };
    expect(counts).toEqual({ requested: 1, rejected: 3 });
    expect(results).toMatchObject([
      { role: 'reader', execution_id: expect.any(String), error: null },
      { role: 'auditor', execution_id: null, error: { code: 'invalid' } },
      // A role that the person may not see gets the same error as a role that does not exist.
      { role: 'secret', execution_id: null, error: { code: 'not_found', message: 'Role secret was not found' } },
      { role: 'no-such', execution_id: null, error: { code: 'not_found', message: 'Role no-such was not found' } },
    ]);
    await world.drive();
    const read = await send(`${world.url}/api/v1/execution/${results[0]?.execution_id}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(JSON.parse(read.body)).toMatchObject({
      role: 'reader',
      providers: ['store'],
      state: 'waiting_for_approval',
    });
  });

  it('are requested once for one idempotency key', async () => {
    const twice = async () => {
      const { body } = await request({ roles: ['reader'], reason: 'Once' }, { 'idempotency-key': 'once-1' });
      return (JSON.parse(body) as { results: { execution_id: string }[] }).results[0]?.execution_id;
    };
    const first = await twice();
    expect(first).toEqual(expect.any(String));
    expect(await twice()).toBe(first);
  });

  it('are rejected as a whole without a role, with too many, and with one named twice', async () => {
    for (const roles of [[], ['reader', 'reader'], Array.from({ length: 21 }, (_, index) => `r${index}`)]) {
      const answer = await request({ roles, reason: 'x' });
      expect([roles.length, answer.status]).toEqual([roles.length, 400]);
    }
    expect((await send(`${world.url}/api/v1/elevations`, { method: 'POST' })).status).toBe(401);
  });
});
