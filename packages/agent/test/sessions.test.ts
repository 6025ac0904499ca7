import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient, isBelayError } from '@belay/sdk';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { followSignIn, type Local, makeCredential, startLocal } from './support/local.js';

let world: World;
let local: Local;
beforeAll(async () => {
  world = await createWorld();
  local = await startLocal(world, { mode: 'agent', credential: await makeCredential(world, 'sessions') });
});
afterAll(async () => {
  await local?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

const issue = async () => {
  const client = createClient({ url: world.url, token: await loginToken() });
  return (await client.sessions.issue('demo')).session;
};
/** Signs in, and returns the token of the login from the store. */
const loginToken = async () => {
  await local.signIn('requester');
  const { sessions } = JSON.parse(await opened()) as { sessions: { token: string }[] };
  return sessions[0]?.token ?? '';
};
/** Returns the content of the store, decrypted with its key. */
const opened = async () => {
  const { createDecipheriv } = await import('node:crypto');
  const key = Buffer.from((await readFile(join(local.folder, 'key'), 'utf8')).trim(), 'base64url');
  const [, body = ''] = (await readFile(join(local.folder, 'sessions'), 'utf8')).trim().split('.');
  const bytes = Buffer.from(body, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAAD(Buffer.from('belay sessions 1'));
  decipher.setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('utf8');
};

describe('signing in through the server', () => {
  it('shows nothing of the catalog without a session, and says who may sign in', async () => {
    for (const path of ['/providers', '/roles'])
      expect([path, (await local.call('GET', path)).status]).toEqual([path, 401]);
    const page = await local.call('GET', '/providers', { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.location]).toEqual([302, '/auth']);
    const auth = await local.call('GET', '/auth', { headers: { accept: 'text/html' } });
    expect(String(auth.headers.location)).toMatch(new RegExp(`^${world.url}/api/v1/auth\\?callback=`));
  });

  it('ends with a sealed session here, and lists what that person may see', async () => {
    const page = await local.signIn('requester');
    expect([page.status, page.body]).toEqual([200, expect.stringContaining('rita@example.test')]);
    const { json } = await local.call('GET', '/sessions');
    expect(json.sessions).toEqual({ demo: { version: 1, expiry: expect.any(String), session: expect.any(String) } });
    const one = await local.call('GET', '/session/demo');
    expect(one.json).toEqual({ session: (json.sessions as Record<string, object>).demo });
    const file = await readFile(join(local.folder, 'sessions'), 'utf8');
    expect(file).not.toContain('rita');
    expect((await stat(join(local.folder, 'sessions'))).mode & 0o777).toBe(0o600);
    const roles = await local.call('GET', '/roles');
    expect(Object.keys(roles.json.roles as object)).toEqual(['reader']);
    const providers = await local.call('GET', '/providers?capability=authorizer');
    expect((providers.json.providers as { _id: string }[]).map(({ _id }) => _id)).toEqual(['store']);
    for (const path of ['/providers', '/roles', '/workflows', '/logs']) {
      const shown = await local.call('GET', path, { headers: { accept: 'text/html' } });
      expect([path, shown.status, shown.headers['content-type']]).toEqual([path, 200, 'text/html; charset=utf-8']);
    }
  });

  it('shows the server a session that the server takes', async () => {
    const token = await loginToken();
    const { json } = await local.call('GET', '/session/demo');
    const { session } = json as { session: { version: number; expiry: string; session: string } };
    const answer = await fetch(`${world.url}/api/v1/elevate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ role: 'reader', reason: 'An incident', session }),
    });
    expect(answer.status).toBe(200);
  });

  it('goes on to the page of the program that began it, also with a name in another script', async () => {
    const callback = 'http://127.0.0.1:9/größe/Ā?a=1';
    const begun = await local.call('GET', `/auth?provider=demo&callback=${encodeURIComponent(callback)}`);
    const back = await followSignIn(world.url, String(begun.json.url), 'requester');
    expect([back.status, back.headers.location]).toEqual([302, new URL(callback).href]);
  });

  it('comes back to an address that is good once', async () => {
    const begun = await local.call('GET', '/auth?provider=demo');
    const callback = new URL(String(begun.json.url)).searchParams.get('callback') ?? '';
    const path = new URL(callback).pathname;
    expect((await local.call('GET', `${path}?error=access_denied`)).status).toBe(403);
    expect((await local.call('GET', `${path}?code=x`)).status).toBe(404);
    expect((await local.call('GET', `/auth/return/${'a'.repeat(43)}?code=x`)).status).toBe(404);
  });
});

describe('POST /sessions', () => {
  const begin = async (provider = 'demo') => String((await local.call('GET', `/auth?provider=${provider}`)).json.code);

  it('keeps the session of a sign-in begun here, once', async () => {
    const { session } = await issue();
    const code = await begin();
    const kept = await local.call('POST', '/sessions', { body: { code, provider: 'demo', session } });
    expect([kept.status, kept.json]).toEqual([200, { message: expect.any(String), expiry: expect.any(String) }]);
    const again = await local.call('POST', '/sessions', { body: { code, provider: 'demo', session } });
    expect(again.status).toBe(403);
  });

  it('rejects a foreign code, one for another provider, a changed one, and a value that is not a session', async () => {
    const { session } = await issue();
    const code = await begin();
    const tampered = `${code.startsWith('A') ? 'B' : 'A'}${code.slice(1)}`;
    const bodies = [
      [{ code: 'x', provider: 'demo', session }, 403],
      [{ code: tampered, provider: 'demo', session }, 403],
      [{ code, provider: 'store', session }, 403],
      [{ code, provider: 'demo', session: 'nonsense' }, 400],
      [{ code, provider: 'demo' }, 400],
      [{ code, provider: 'demo', session, more: 1 }, 400],
    ] as const;
    for (const [body, status] of bodies) {
      expect([body, (await local.call('POST', '/sessions', { body })).status]).toEqual([body, status]);
    }
  });

  it('takes JSON only', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']) {
      const answer = await local.call('POST', '/sessions', { body: {}, headers: { 'content-type': type } });
      expect([type, answer.status]).toEqual([type, 415]);
    }
  });
});

describe('DELETE /session/{provider}', () => {
  it('removes it from memory and disk, and says that tokens at the provider stay', async () => {
    await local.signIn('requester');
    const gone = await local.call('DELETE', '/session/demo');
    expect([gone.status, String(gone.json.message)]).toEqual([200, expect.stringMatching(/not revoked/)]);
    expect((await local.call('GET', '/session/demo')).status).toBe(404);
    expect((await local.call('DELETE', '/session/demo')).status).toBe(404);
    expect(JSON.parse(await opened())).toEqual({ sessions: [] });
  });
});

describe('the store', () => {
  it('keeps sessions over a restart, and none of a damaged file, which stays aside', async () => {
    await using first = await startLocal(world, { mode: 'agent', credential: await makeCredential(world, 'store') });
    await first.signIn('requester');
    await first.agent.stop();
    const environment = { mode: 'agent', dataDirectory: first.folder } as const;
    const second = await startLocal(world, environment);
    expect((await second.call('GET', '/session/demo')).status).toBe(200);
    await second.agent.stop();
    await writeFile(join(first.folder, 'sessions'), 'belay1.nonsense');
    const third = await startLocal(world, environment);
    expect((await third.call('GET', '/session/demo')).status).toBe(404);
    const health = await third.call('GET', '/health');
    expect(health.json).toMatchObject({
      status: 'degraded',
      services: { storage: expect.stringContaining('the store is empty') },
    });
    const [aside = ''] = (await readdir(first.folder)).filter((name) => name.startsWith('sessions.damaged-'));
    expect(await readFile(join(first.folder, aside), 'utf8')).toBe('belay1.nonsense');
    expect(third.lines.some(({ level, message }) => level === 'error' && message.includes('moved aside'))).toBe(true);
    await third.agent.stop();
  });

  it('rejects a second agent on its folder, naming the first', async () => {
    const second = startLocal(world, { mode: 'agent', dataDirectory: local.folder });
    await expect(second).rejects.toThrow(`in use by another agent (pid ${process.pid})`);
  });
});

describe('client mode', () => {
  it('keeps sessions and nothing else: signed in through the server, read, given back', async () => {
    await using client = await startLocal(world, { mode: 'client' });
    const sdk = createClient({ url: client.url });
    const { url } = await sdk.sessions.begin('demo');
    const page = await followSignIn(world.url, url, 'requester');
    expect([page.status, page.body]).toEqual([200, expect.stringContaining('rita@example.test')]);
    expect(Object.keys((await sdk.sessions.list()).sessions)).toEqual(['demo']);
    const { session } = await sdk.sessions.get('demo');
    expect((await sdk.sessions.remove('demo')).message).toContain('not revoked');
    const { code } = await sdk.sessions.begin();
    expect(await sdk.sessions.keep({ code, provider: 'demo', session: session.session })).toMatchObject({
      expiry: session.expiry,
    });
    for (const call of [() => sdk.roles.list(), () => sdk.providers.list(), () => sdk.workflows.list()]) {
      await expect(call()).rejects.toMatchObject({ code: 'not_configured' });
    }
  });
});

describe('the SDK against an agent', () => {
  it('reads what the mode has, and gets a typed error for what it lacks', async () => {
    await local.signIn('requester');
    const client = createClient({ url: local.url });
    expect(Object.keys((await client.roles.list()).roles)).toEqual(['reader']);
    expect((await client.providers.list()).providers.map(({ _id }) => _id)).toEqual(['demo', 'store']);
    expect(Object.keys((await client.sessions.list()).sessions)).toEqual(['demo']);
    expect((await client.configuration.get()).serviceType).toBe('agent');
    for (const call of [
      () => client.executions.list(),
      () => client.access.list(),
      () => client.roles.get('reader'),
      () => client.auth.whoami(),
    ]) {
      const error: unknown = await call().then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect([isBelayError(error, 'not_configured'), String(error)]).toEqual([
        true,
        expect.stringContaining('agent mode'),
      ]);
    }
  });
});
