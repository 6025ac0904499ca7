import { get } from 'node:http';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type CallOptions, callRest } from '../http/support/caller.js';

/** Attacks with event streams: many streams, and streams that outlive their login. */

let world: World;
let requester: string;
let id: string;
beforeAll(async () => {
  world = await createWorld({ timing: { streamCheck: 200 }, server: { limits: { event_streams: 3 } } });
  requester = await world.token('requester');
  const asked = await call('POST', '/elevate', {
    token: requester,
    body: { role: 'reader', reason: 'A quiet matter' },
  });
  id = (asked.json.output as { execution_id: string }).execution_id;
  await world.drive();
});
afterAll(() => world[Symbol.asyncDispose]());

/** How many streams and waiting calls the tests have opened. */
let opened = 0;
// The server notices a closed stream a moment later, and the next test counts open streams.
afterEach(() =>
  vi.waitFor(
    () => {
      const ended = world.lines.filter(
        ({ message, detail }) => message === 'request' && /\/executions?[./]/.test(String(detail.path)),
      );
      expect(ended).toHaveLength(opened);
    },
    { timeout: 30_000 },
  ),
);

const call = (method: string, path: string, options: CallOptions) => callRest(world.url, method, path, options);

interface Stream {
  status: number;
  retryAfter: string | undefined;
  text(): string;
  /** Resolves when the server has ended the stream. */
  ended: Promise<void>;
  close(): void;
}

/** Opens a stream; resolves with its first bytes. */
function watch(token: string, headers: Record<string, string> = { accept: 'text/event-stream' }): Promise<Stream> {
  const query = encodeURIComponent(JSON.stringify({ id }));
  opened += 1;
  return new Promise((resolve, reject) => {
    const outgoing = get(
      `${world.url}/trpc/executions.watch?input=${query}`,
      { headers: { authorization: `Bearer ${token}`, ...headers }, agent: false },
      (incoming) => {
        let text = '';
        incoming.on('error', () => {});
        const ended = new Promise<void>((end) => incoming.once('close', () => end()));
        const stream = {
          status: incoming.statusCode ?? 0,
          retryAfter: incoming.headers['retry-after'],
          text: () => text,
          ended,
          close: () => outgoing.destroy(),
        };
        incoming.on('data', (chunk: Buffer) => {
          text += chunk.toString();
          resolve(stream);
        });
      },
    );
    outgoing.on('error', reject);
  });
}

async function isRefused(token: string): Promise<boolean> {
  const stream = await watch(token);
  stream.close();
  return stream.status === 429;
}

describe('event streams', () => {
  it('are limited for each person, across logins and headers, and closed ones do not count', async () => {
    const second = await world.token('requester', 'device');
    const open = [await watch(requester), await watch(second), await watch(requester, {})];
    expect(open.map(({ status }) => status)).toEqual([200, 200, 200]);
    const refused = await watch(second, {});
    expect([refused.status, refused.retryAfter]).toEqual([429, '5']);
    expect(refused.text()).toMatch(/3 event streams and waiting calls open.*"code":"TOO_MANY_REQUESTS"/);
    const headers = { accept: 'application/x-ndjson' };
    expect((await call('GET', '/logs/export', { token: requester, headers })).status).toBe(429);
    const approver = await watch(await world.token('approver'));
    expect(approver.status).toBe(200);
    approver.close();
    open[0]?.close();
    await expect.poll(() => isRefused(requester), { timeout: 30_000 }).toBe(false);
    for (const stream of open) stream.close();
  });

  it('end when their login does, and no others', async () => {
    const leaving = await world.token('requester');
    const ending = await watch(leaving);
    expect(ending.status).toBe(200);
    const staying = await watch(await world.token('approver'));
    let stays = true;
    void staying.ended.then(() => {
      stays = false;
    });
    expect((await call('GET', '/auth/logout', { token: leaving })).status).toBe(200);
    await ending.ended;
    expect((await watch(leaving)).status).toBe(401);
    expect(stays).toBe(true);
    staying.close();
  });

  it.each(['/execution/ID?until=ended&wait=PT30S', '/trpc'])('count with the calls that wait: %s', async (where) => {
    const token = await world.token('requester');
    const input = encodeURIComponent(JSON.stringify({ id, until: 'ended', wait: 'PT30S' }));
    const address = where === '/trpc' ? `/trpc/executions.get?input=${input}` : where.replace('ID', id);
    const base = where === '/trpc' ? world.url : `${world.url}/api/v1`;
    const leaving = new AbortController();
    const wait = async () => {
      opened += 1;
      const { signal } = leaving;
      const answer = await fetch(`${base}${address}`, { headers: { authorization: `Bearer ${token}` }, signal });
      return answer.status;
    };
    const statuses: number[] = [];
    for (let index = 0; index < 20; index += 1) {
      wait().then(
        (status) => statuses.push(status),
        () => {},
      );
    }
    await expect.poll(() => statuses, { timeout: 30_000 }).toEqual(Array(17).fill(429));
    expect((await watch(await world.token('requester', 'device'))).status).toBe(429);
    // A call whose client has disconnected no longer counts.
    leaving.abort();
    await expect.poll(() => isRefused(token), { timeout: 30_000 }).toBe(false);
  });

  it('end with their login when they are calls that wait', async () => {
    const leaving = await world.token('requester');
    opened += 1;
    const waiting = fetch(`${world.url}/api/v1/execution/${id}?until=ended&wait=PT30S`, {
      headers: { authorization: `Bearer ${leaving}` },
    }).then(
      ({ status }) => status,
      () => 'ended',
    );
    const staying = await world.token('requester');
    const open = [await watch(staying), await watch(staying)];
    await expect.poll(() => isRefused(staying), { timeout: 30_000 }).toBe(true);
    expect((await call('GET', '/auth/logout', { token: leaving })).status).toBe(200);
    expect(await waiting).toBe('ended');
    for (const stream of open) stream.close();
  });

  it('end when the groups of the person were removed', async () => {
    const approver = await world.token('approver');
    const stream = await watch(approver);
    expect(stream.status).toBe(200);
    await world.database.sql`update user_identities set groups = '[]'`;
    await world.database.sql`update users set groups = '[]'`;
    await stream.ended;
    const again = await watch(approver);
    await again.ended;
    expect(again.text()).toContain('not_found');
  });
});
