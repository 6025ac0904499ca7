import { signHook } from '@belay/providers/testkit';
import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const secret = 'what the provider signs its requests with';

let world: World;
beforeAll(async () => {
  world = await createWorld({
    limits: { bodyBytes: 2_000 },
    change: (document) => ({
      ...document,
      providers: {
        ...document.providers,
        chat: { provider: 'memory', config: { hook_secret: secret }, trusted_email_domains: ['example.test'] },
        silenced: {
          provider: 'memory',
          config: { hook_secret: secret, verdicts: [] },
          capabilities: ['authorizer', 'identities'],
        },
      },
    }),
  });
});
afterAll(() => world[Symbol.asyncDispose]());

const json = { 'content-type': 'application/json' };
const post = (provider: string, body: string, headers: Record<string, string> = json) =>
  send(`${world.url}/api/v1/hooks/${provider}`, { method: 'POST', headers, body });
const body = JSON.stringify({ token: 'not a token', subject: 'U-1' });
const signed = (text: string) => ({ ...json, ...signHook(secret, new Date(), text) });

describe('POST /hooks/{provider}', () => {
  it('takes what the provider signed, without a login, and answers what its connector says', async () => {
    const { status, body: answer } = await post('chat', body, signed(body));
    expect([status, JSON.parse(answer)]).toEqual([200, { ok: true }]);
  });

  it('rejects what it did not sign, also when only a byte is another', async () => {
    expect((await post('chat', body)).status).toBe(401);
    expect((await post('chat', `${body} `, signed(body))).status).toBe(401);
  });

  it('is not there for providers that receive nothing, or may not', async () => {
    for (const provider of ['store', 'demo', 'silenced', 'nowhere']) {
      expect([provider, (await post(provider, body, signed(body))).status]).toEqual([provider, 404]);
    }
  });

  it('reads forms and JSON up to the limit of every body, and nothing else', async () => {
    const form = { ...signed(body), 'content-type': 'application/x-www-form-urlencoded' };
    expect((await post('chat', body, form)).status).toBe(200);
    expect((await post('chat', body, { ...signed(body), 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post('chat', 'x'.repeat(3_000), signed(body))).status).toBe(413);
  });
});
