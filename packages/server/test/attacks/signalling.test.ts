import { createHmac, randomBytes } from 'node:crypto';
import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from '../http/support/caller.js';

/** Attacks with events: the sender of the event that a request waits for decides about it. */

const ciToken = randomBytes(24).toString('base64url');
const key = randomBytes(32);
const secrets: Record<string, string> = { 'env:CI': ciToken, 'env:HOOK': `whsec_${key.toString('base64')}` };
const flow = {
  document: { dsl: '1.0.3', namespace: 'test', name: 'tested', version: '1.0.0' },
  do: [
    {
      tested: {
        listen: { to: { one: { with: { type: 'tests.passed' } } } },
        metadata: { from: { sources: ['ci', 'hook'] } },
      },
    },
    { grant: { call: 'access.grant' } },
  ],
};

let world: World;
let requester: string;
beforeAll(async () => {
  world = await createWorld({
    resolve: (reference) => secrets[reference],
    change: (document) => ({
      ...document,
      events: { sources: { ci: { token: '${env:CI}' }, hook: { standard_webhooks: { secret: '${env:HOOK}' } } } },
      roles: { ...document.roles, reader: { ...document.roles.reader, workflows: ['tested'] } },
      workflows: { ...document.workflows, tested: { workflow: flow } },
    }),
  });
  requester = await world.token('requester');
});
afterAll(() => world[Symbol.asyncDispose]());

async function ask(): Promise<string> {
  const { json } = await callRest(world.url, 'POST', '/elevate', {
    token: requester,
    body: { role: 'reader', reason: 'x' },
  });
  await world.drive();
  return (json.output as { execution_id: string }).execution_id;
}

function post(source: string, body: string, headers: Record<string, string> = {}) {
  return send(`${world.url}/api/v1/events/${source}`, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/cloudevents+json',
      'content-length': String(Buffer.byteLength(body)),
      ...headers,
    },
  });
}

const event = (subject: string, id = 'build-1') =>
  JSON.stringify({
    specversion: '1.0',
    id,
    source: 'urn:belay:source:ci',
    type: 'tests.passed',
    subject,
    data: { n: 1 },
  });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
function signed(body: string, id = 'msg_1', at = new Date()): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}
const grantsOf = async (id: string) => {
  await world.drive();
  return ((await callRest(world.url, 'GET', `/execution/${id}`, { token: requester })).json.grants as object[]).length;
};

describe('the event that a request waits for', () => {
  it('cannot be sent by its requester: not sealed, not as a source, not with a login', async () => {
    const id = await ask();
    const sealed = await callRest(world.url, 'POST', `/execution/${id}/signal/token`, {
      token: requester,
      body: { type: 'tests.passed' },
    });
    const { input } = sealed.json as { input: string };
    expect(
      (await callRest(world.url, 'GET', `/execution/${id}/signal?input=${input}`, { token: requester })).status,
    ).toBe(403);
    const answers = await Promise.all([
      post('ci', event(id)),
      post('ci', event(id), bearer(requester)),
      post('ci', event(id), { cookie: `belay=${ciToken}` }),
      post('hook', event(id), bearer(ciToken)),
      post('ci', event(id), signed(event(id))),
      post('unknown', event(id), bearer(ciToken)),
    ]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(await grantsOf(id)).toBe(0);
  });

  it('is accepted from the source with its token, once', async () => {
    const id = await ask();
    expect((await post('ci', event(id), bearer(ciToken))).status).toBe(202);
    expect(await grantsOf(id)).toBe(1);
    expect((await post('ci', event(id), bearer(ciToken))).status).toBe(409);
    expect((await post('ci', event('0197a9f2-0000-7000-8000-000000000000'), bearer(ciToken))).status).toBe(404);
  });

  it('is accepted with a signature over exactly these bytes, and not when it is replayed, late or changed', async () => {
    const id = await ask();
    const other = await ask();
    const body = ` ${event(id, 'build-2')}\n`;
    const late = new Date(Date.now() - 6 * 60_000);
    expect((await post('hook', body, signed(body, 'msg_1', late))).status).toBe(401);
    expect((await post('hook', event(other, 'build-2'), signed(body))).status).toBe(401);
    expect((await post('hook', body.trim(), signed(body))).status).toBe(401);
    expect((await post('hook', body, signed(body))).status).toBe(202);
    expect(await grantsOf(id)).toBe(1);
    expect((await post('hook', body, signed(body))).status).toBe(409);
    expect(await grantsOf(other)).toBe(0);
  });

  it('is bounded, and says what is wrong with it', async () => {
    const id = await ask();
    const large = JSON.stringify({ ...JSON.parse(event(id)), data: 'x'.repeat(70_000) });
    expect((await post('ci', large, bearer(ciToken))).status).toBe(400);
    expect((await post('ci', '{"specversion":"1.0"}', bearer(ciToken))).body).toContain('subject');
    expect((await post('ci', event(id), { ...bearer(ciToken), 'content-type': 'text/plain' })).status).toBe(415);
    expect(await grantsOf(id)).toBe(0);
  });
});
