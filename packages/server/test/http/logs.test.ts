import { request as httpRequest } from 'node:http';
import type { EventType } from '@belay/contract/event-types';
import { appendLedger, enrollAgent, withActor } from '@belay/core';
import { createClient } from '@belay/sdk';
import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callRest } from './support/caller.js';

const many = 3_000;
let world: World;
let token: string;
let other: string;
let agent: string;
beforeAll(async () => {
  world = await createWorld();
  token = await world.token('requester');
  other = await world.token('bystander');
  const operator = withActor(world.context, { kind: 'operator', name: 'test' });
  agent = (await enrollAgent(operator, { name: 'build-3', ttl: 'P1D' })).credential;
  const { id } = (await call('GET', '/auth/whoami', { token })).json;
  const entries = Array.from({ length: many }, (_, number) => ({
    type: 'note' as string as EventType,
    level: number % 100 === 0 ? ('error' as const) : ('info' as const),
    message: `note ${number}`,
    actor: { kind: 'system' as const, name: 'test' },
    userId: String(id),
    provider: number % 2 ? 'store' : 'demo',
  }));
  await appendLedger(world.context.db, entries);
});
afterAll(() => world[Symbol.asyncDispose]());

const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);
const linesOf = (body: string) =>
  body.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<string, string>]));
const ask = (path: string, headers: Record<string, string> = {}) =>
  send(`${world.url}/api/v1${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } });

describe('GET /logs', () => {
  it('is the newest 500, filtered as asked; what is no filter is rejected', async () => {
    const all = (await call('GET', '/logs', { token })).json.logs as { message: string }[];
    expect([all.length, all[0]?.message]).toEqual([500, `note ${many - 1}`]);
    const filtered = await call('GET', '/logs?level=error&provider=demo&type=note&user=rita%40example.test', { token });
    expect(filtered.json.logs).toHaveLength(many / 100);
    const late = await call('GET', '/logs?since=2100-01-01T00:00:00Z', { token });
    expect(late.json).toEqual({ logs: [] });
    for (const query of [
      'level=loud',
      'since=yesterday',
      'until=1',
      'limit=501',
      'limit=x',
      'nonsense=1',
      'cursor=1',
    ]) {
      expect([query, (await call('GET', `/logs?${query}`, { token })).status]).toEqual([query, 400]);
    }
    expect((await call('GET', '/logs')).status).toBe(401);
  });

  it('takes a time without an offset as UTC, and one without seconds as the whole minute', async () => {
    const newestAt = async (query: string) => {
      const { logs } = (await call('GET', `/logs?type=note&limit=1${query}`, { token })).json;
      return (logs as { timestamp: string }[])[0]?.timestamp;
    };
    const at = (await newestAt('')) ?? '';
    const minute = at.slice(0, 16);
    expect(await newestAt(`&since=${minute}&until=${minute}`)).toBe(at);
    expect(await newestAt(`&until=${minute}:00`)).not.toBe(at);
  });
});

describe('GET /logs/export', () => {
  it('is every entry, one a line, newest first, and goes on after a cursor', async () => {
    const answer = await ask('/logs/export');
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/x-ndjson; charset=utf-8']);
    const lines = linesOf(answer.body);
    const notes = lines.filter(({ type }) => type === 'note').map(({ message }) => message);
    expect(notes).toEqual(Array.from({ length: many }, (_, number) => `note ${many - 1 - number}`));
    const cursor = lines[1_999]?.cursor ?? '';
    const rest = linesOf((await ask(`/logs/export?cursor=${cursor}`)).body);
    expect(rest).toEqual(lines.slice(2_000));
    const some = linesOf((await ask('/logs/export?level=error&limit=7')).body);
    expect(some).toHaveLength(many / 100);
  });

  it('is a page of JSON on request, and the SDK goes through all pages', async () => {
    const page = await ask('/logs/export?limit=10', { accept: 'application/json' });
    const { logs, next } = JSON.parse(page.body) as { logs: { cursor: string }[]; next: string };
    expect([logs.length, next]).toEqual([10, logs.at(-1)?.cursor]);
    const client = createClient({ url: world.url, token });
    let count = 0;
    for await (const entry of client.logs.export({ type: 'note' })) count += entry.type === 'note' ? 1 : 0;
    expect(count).toBe(many);
  });

  it('is the caller’s only, and rejects what is malformed before it begins', async () => {
    const theirs = await send(`${world.url}/api/v1/logs/export`, { headers: { authorization: `Bearer ${other}` } });
    expect(linesOf(theirs.body).some(({ type }) => type === 'note')).toBe(false);
    expect((await ask('/logs/export?cursor=x')).status).toBe(400);
    expect((await ask('/logs/export?until=never')).status).toBe(400);
    expect((await send(`${world.url}/api/v1/logs/export`)).status).toBe(401);
    expect((await ask('/logs/export', { accept: 'image/png' })).status).toBe(406);
  });

  it('is cut off, and not ended, when the login ends on the way', async () => {
    const leaving = await world.token('requester');
    const ended = await new Promise<string>((resolve, reject) => {
      const outgoing = httpRequest(
        `${world.url}/api/v1/logs/export?limit=1`,
        { headers: { authorization: `Bearer ${leaving}` } },
        (incoming) => {
          incoming.once('data', () => void call('GET', '/auth/logout', { token: leaving }).catch(reject));
          incoming.resume();
          incoming.once('end', () => resolve('whole'));
          incoming.once('error', () => resolve('cut off'));
        },
      );
      outgoing.once('error', reject);
      outgoing.end();
    });
    expect(ended).toBe('cut off');
  });
});

describe('POST /logs', () => {
  const entry = { timestamp: '2026-01-01T00:00:00.000Z', level: 'warning', message: 'Disk is full' };

  it('accepts entries from agents, and never shows them as the server’s own', async () => {
    const taken = await call('POST', '/logs', { token: agent, body: { entries: [entry, entry] } });
    expect([taken.status, taken.json]).toEqual([200, { accepted: 2 }]);
    expect((await ask('/logs/export?level=warning')).body).not.toContain('Disk is full');
  });

  it('rejects what is malformed, too much, or claims more than an agent may say', async () => {
    for (const body of [
      {},
      { entries: [] },
      { entries: Array.from({ length: 201 }, () => entry) },
      { entries: [{ ...entry, level: 'loud' }] },
      { entries: [{ ...entry, timestamp: 'now' }] },
      { entries: [{ ...entry, message: '' }] },
      { entries: [{ ...entry, user: 'rita@example.test' }] },
      { entries: [{ ...entry, actor: { kind: 'system' } }] },
    ]) {
      expect((await call('POST', '/logs', { token: agent, body })).status).toBe(400);
    }
    const large = { entries: Array.from({ length: 200 }, () => ({ ...entry, message: 'x'.repeat(2_000) })) };
    expect((await call('POST', '/logs', { token: agent, body: large })).status).toBe(413);
  });
});
