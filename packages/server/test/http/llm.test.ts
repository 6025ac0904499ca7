import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callRest } from './support/caller.js';

let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld();
  token = await world.token('requester');
});
afterAll(() => world[Symbol.asyncDispose]());

const path = '/api/v1/elevate/llm';
const ask = (reason: unknown, more: object = {}) =>
  callRest(world.url, 'POST', '/elevate/llm', { token, body: { reason, ...more } });

/** Sends a request as a browser with the login cookie does from our own page. */
const browse = (method: string, address: string, form?: Record<string, string>, headers: Record<string, string> = {}) =>
  send(`${world.url}${address}`, {
    method,
    headers: {
      cookie: `belay=${token}`,
      accept: 'text/html',
      'sec-fetch-site': 'same-origin',
      ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      ...headers,
    },
    ...(form === undefined ? {} : { body: new URLSearchParams(form).toString() }),
  });

/** Returns the hidden and visible fields of the form that posts to an address. */
function formOf(html: string, action: string): Record<string, string> {
  const form = new RegExp(`<form method="post" action="${action}"[\\s\\S]*?</form>`).exec(html)?.[0] ?? '';
  const inputs = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  const areas = [...form.matchAll(/<textarea[^>]* name="([^"]+)"[^>]*>([^<]*)</g)];
  // The option of a selection list that a browser would send.
  const choices = [...form.matchAll(/<select[^>]* name="([^"]+)"[^>]*>(.*?)<\/select>/gs)].map(
    ([, name, options = '']) => ['', name, /value="([^"]*)" selected/.exec(options)?.[1]],
  );
  return Object.fromEntries([...inputs, ...areas, ...choices].map(([, name = '', value = '']) => [name, value]));
}

const running = async () => (await callRest(world.url, 'GET', '/executions', { token })).json.executions as unknown[];

describe('POST /elevate/llm', () => {
  it('answers role, duration, providers and workflow in the documented shape, and starts nothing', async () => {
    const { status, json } = await ask('I have to read the store for 20 minutes');
    expect(status).toBe(200);
    expect(json).toMatchObject({
      status: 'suggested',
      output: {
        suggested_role: 'reader',
        suggested_duration: 'PT20M',
        suggested_providers: ['store'],
        workflow_id: 'approve-and-grant',
      },
    });
    expect(await running()).toEqual([]);
  });

  it('keeps the shape when nothing fits', async () => {
    const { status, json } = await ask('two pizzas, please');
    expect(status).toBe(200);
    expect(json).toMatchObject({
      status: 'no_match',
      output: { suggested_role: '', suggested_duration: '', suggested_providers: [], workflow_id: '' },
    });
  });

  it('takes a form as well', async () => {
    const answer = await send(`${world.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'reason=read+the+store',
    });
    expect(JSON.parse(answer.body)).toMatchObject({ status: 'suggested', output: { suggested_role: 'reader' } });
  });

  it('suggests only roles that the caller can request, for any text', async () => {
    for (const words of ['secret', 'the role secret at store', 'write the store secret', 'hidden provider']) {
      const { json } = await ask(words);
      expect(JSON.stringify(json)).not.toMatch(/"secret"\]|"suggested_role":"secret"|hidden/);
    }
    const bystander = await world.token('bystander');
    const { json } = await callRest(world.url, 'POST', '/elevate/llm', {
      token: bystander,
      body: { reason: 'read the store' },
    });
    expect(json.status).toBe('no_match');
  });

  it('rejects what is no request, and never fails', async () => {
    const refused: [body: object, status: number][] = [
      [{}, 400],
      [{ reason: '' }, 400],
      [{ reason: '  ' }, 400],
      [{ reason: 7 }, 400],
      [{ reason: ['read'] }, 400],
      [{ reason: 'x'.repeat(4_001) }, 400],
      [{ reason: 'nul \0' }, 400],
      [{ reason: 'half \ud800' }, 400],
      [{ reason: 'read', role: 'secret' }, 400],
      [{ reason: 'read', workflow_id: 'automatic' }, 400],
    ];
    for (const [body, status] of refused) {
      expect((await callRest(world.url, 'POST', '/elevate/llm', { token, body })).status, JSON.stringify(body)).toBe(
        status,
      );
    }
    expect((await callRest(world.url, 'POST', '/elevate/llm', { body: { reason: 'read' } })).status).toBe(401);
    expect((await callRest(world.url, 'DELETE', '/elevate/llm', { token })).status).toBe(405);
    const plain = await send(`${world.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
      body: 'read the store',
    });
    expect(plain.status).toBe(415);
  });

  it('leaves the words out of every log', async () => {
    await ask('read the store because of zanzibar-4711');
    expect(JSON.stringify(world.lines)).not.toContain('zanzibar-4711');
  });
});

describe('GET /elevate/llm', () => {
  it('is a form for signed-in people', async () => {
    const page = await browse('GET', path);
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toMatch(/^text\/html/);
    expect(Object.keys(formOf(page.body, path))).toEqual(['csrf_token', 'shown_to', 'reason']);
    const stranger = await send(`${world.url}${path}`, { headers: { accept: 'text/html' } });
    expect(stranger.status).toBe(302);
    expect(stranger.headers.location).toContain('/auth?callback=');
  });

  it('tells a program which fields there are', async () => {
    const { json } = await callRest(world.url, 'GET', '/elevate/llm', {
      token,
      headers: { accept: 'application/json' },
    });
    expect(json).toEqual({ method: 'POST', fields: [{ name: 'reason', max_length: 4000 }] });
  });
});

describe('in a browser, without a script', () => {
  it('words lead to a suggestion, and from there to a request that waits for its approval like any other', async () => {
    const words = 'read the store for 10 minutes <b>"now"</b>';
    const { csrf_token = '' } = formOf((await browse('GET', path)).body, path);
    const page = await browse('POST', path, { csrf_token, reason: words });
    expect(page.status).toBe(200);
    expect(page.body).toContain('reader');
    expect(page.body).not.toContain('<b>');
    expect(await running()).toEqual([]);

    const { reason: _escaped, ...fields } = formOf(page.body, '/api/v1/elevate');
    expect(fields).toMatchObject({ role: 'reader', duration: 'PT10M' });
    const asked = await browse('POST', '/api/v1/elevate', { ...fields, reason: words });
    expect(asked.status).toBe(303);
    await world.drive();
    const [execution] = await running();
    expect(execution).toMatchObject({ status: 'waiting', role: 'reader', reason: words, duration: 'PT10M' });
    expect(world.store.held()).toEqual([]);
  });

  it('says so when nothing fits, and keeps the words', async () => {
    const { csrf_token = '' } = formOf((await browse('GET', path)).body, path);
    const page = await browse('POST', path, { csrf_token, reason: 'two pizzas' });
    expect(page.status).toBe(200);
    expect(formOf(page.body, path).reason).toBe('two pizzas');
    expect(page.body).toContain('No role');
  });

  it('takes only forms of our own pages', async () => {
    const { csrf_token = '' } = formOf((await browse('GET', path)).body, path);
    const words = { reason: 'read the store' };
    expect((await browse('POST', path, words)).status).toBe(403);
    expect((await browse('POST', path, { ...words, csrf_token: `${csrf_token}x` })).status).toBe(403);
    const foreign = await browse('POST', path, { ...words, csrf_token }, { 'sec-fetch-site': 'cross-site' });
    expect(foreign.status).toBe(403);
  });
});

describe('/health', () => {
  it('says that no model is configured', async () => {
    const { json } = await callRest(world.url, 'GET', '/health');
    expect(json.services).toMatchObject({ llm: 'not configured' });
  });
});
