import { send } from '@belay/testkit/serve';
import { openVisitor } from '@belay/testkit/visitor';
import { createWorld, people, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callRest } from '../http/support/caller.js';

/** Attacks on the decision: only a signed-in person who may decide can decide, and only on purpose. */

let world: World;
let requester: string;
let approver: string;
beforeAll(async () => {
  world = await createWorld();
  requester = await world.token('requester');
  approver = await world.token('approver');
});
afterAll(() => world[Symbol.asyncDispose]());

const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);

/** Makes a request that waits for its approval, and returns it with the approver's own link to approve it. */
async function linkFor(): Promise<{ id: string; link: string }> {
  const asked = await call('POST', '/elevate', { token: requester, body: { role: 'reader', reason: 'x' } });
  const { execution_id: id } = asked.json.output as { execution_id: string };
  await world.drive();
  const items = (await call('GET', '/approvals', { token: approver })).json.approvals as {
    execution_id: string;
    request_digest: string;
  }[];
  const item = items.find((each) => each.execution_id === id);
  const body = { execution_id: id, verdict: 'approve', request_digest: item?.request_digest };
  const made = await call('POST', '/elevate/resume/token', { token: approver, body });
  expect(made.status).toBe(200);
  return { id, link: `/elevate/resume?state=${encodeURIComponent(String(made.json.state))}` };
}

const statusOf = async (id: string) => (await call('GET', `/execution/${id}`, { token: requester })).json.status;

describe('possession of the link', () => {
  it('is not accepted without a login, from the requester or from a bystander', async () => {
    const { id, link } = await linkFor();
    expect((await call('GET', link)).status).toBe(401);
    expect((await call('GET', link, { token: requester })).status).toBe(403);
    expect([403, 404]).toContain((await call('GET', link, { token: await world.token('bystander') })).status);
    const page = await openVisitor(world.url).visit(link, { accept: 'text/html', site: 'none' });
    expect([page.status, page.location.startsWith('/api/v1/auth?')]).toEqual([302, true]);
    expect(await statusOf(id)).toBe('waiting');
  });

  it('that was used is used up, for the one whom it was made for too', async () => {
    const { id, link } = await linkFor();
    const used = await call('GET', link, { token: approver, headers: { accept: 'application/json' } });
    expect([used.status, used.json]).toMatchObject([200, { output: { approved: true } }]);
    expect((await call('GET', link, { token: approver })).status).toBe(409);
    await world.drive();
    expect(world.store.holds(people.requester.email, { role: 'read' })).toBe(true);
    await call('POST', `/access/${id}/return`, { token: requester });
    await world.drive();
  });

  it('cannot be made by the requester, for themselves or for the approver', async () => {
    const { id } = await linkFor();
    const body = { execution_id: id, verdict: 'approve', request_digest: 'x' };
    const made = await call('POST', '/elevate/resume/token', { token: requester, body });
    if (made.status === 200) {
      const link = `/elevate/resume?state=${encodeURIComponent(String(made.json.state))}`;
      expect((await call('GET', link, { token: requester })).status).toBe(403);
      expect((await call('GET', link, { token: approver })).status).toBe(403);
    }
    expect(await statusOf(id)).toBe('waiting');
  });
});

describe('a prefetch', () => {
  const prefetches: Record<string, string>[] = [
    { 'sec-purpose': 'prefetch' },
    { 'sec-purpose': 'prefetch;prerender' },
    { purpose: 'prefetch' },
    { 'x-moz': 'prefetch' },
  ];

  it('in the approver’s own browser decides nothing', async () => {
    const { id, link } = await linkFor();
    const browser = openVisitor(world.url);
    await browser.signIn('demo', people.approver.subject);
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    for (const headers of prefetches) {
      for (const accept of ['text/html', 'application/json']) {
        const answer = await send(`${world.url}/api/v1${link}`, {
          headers: { cookie, accept, 'sec-fetch-site': 'none', ...headers },
        });
        expect([headers, accept, answer.status >= 300 && answer.status < 400]).toEqual([headers, accept, false]);
      }
    }
    expect(await statusOf(id)).toBe('waiting');
  });

  it('a preview or a click decides nothing either: a page asks first, and its form is for this login and this address', async () => {
    const { id, link } = await linkFor();
    const browser = openVisitor(world.url);
    await browser.signIn('demo', people.approver.subject);
    const page = await browser.visit(link, { accept: 'text/html', site: 'cross-site' });
    expect([page.status, page.body.includes('csrf_token')]).toEqual([200, true]);
    const head = await send(`${world.url}/api/v1${link}`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${approver}` },
    });
    expect(head.status).toBe(405);
    expect(await statusOf(id)).toBe('waiting');
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const other = await linkFor();
    const csrf = [...page.body.matchAll(/name="csrf_token" value="([^"]+)"/g)].at(-1)?.[1] ?? '';
    const stolen = await send(`${world.url}/api/v1${other.link}`, {
      method: 'POST',
      headers: {
        cookie,
        accept: 'text/html',
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams({ csrf_token: csrf }).toString(),
    });
    expect(stolen.status).toBe(403);
    expect(await statusOf(other.id)).toBe('waiting');
  });
});
