import type { EventType } from '@belay/contract/event-types';
import { appendLedger } from '@belay/core';
import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callRest } from '../http/support/caller.js';

let world: World;
let administrator: string;
let auditor: string;
let plain: string;
beforeAll(async () => {
  world = await createWorld({
    change: (document) => ({
      ...document,
      access: { administrators: { groups: ['approvers'] }, auditors: { users: ['bo@example.test'] } },
    }),
  });
  administrator = await world.token('approver');
  auditor = await world.token('bystander');
  plain = await world.token('requester');
});
afterAll(() => world[Symbol.asyncDispose]());

const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);
const id = '00000000-0000-4000-8000-000000000000';
const reads = [
  '/admin/access',
  '/admin/overdue',
  '/admin/logs',
  '/admin/logs/export',
  '/admin/configuration',
  '/admin/configuration/1.0.1',
  '/admin/configuration/1.0.99',
  '/admin/people',
  '/admin/people/adam@example.test',
  '/admin/people/no-one@example.test',
  '/admin/agents',
];
const acts: [string, object][] = [
  ['/admin/access/revoke', { user: 'rita@example.test', reason: 'x' }],
  [`/admin/overdue/${id}/retry`, { reason: 'x' }],
  [`/admin/overdue/${id}/accept`, { left: 'x', reason: 'x' }],
  ['/admin/people/rita@example.test/stop', { reason: 'x' }],
  ['/admin/people/rita@example.test/separate', { other: 'adam@example.test', reason: 'x' }],
  [`/admin/logins/${id}/end`, { reason: 'x' }],
  [`/admin/agents/${id}/remove`, { reason: 'x' }],
  ['/admin/providers/demo/same', { digest: 'x', reason: 'x' }],
];

describe('administration', () => {
  it('answers a plain person the same to everything: 403, and 401 without a login', async () => {
    const bodies = new Set<string>();
    for (const path of reads) {
      const { status, body } = await call('GET', path, { token: plain });
      expect([path, status, (await call('GET', path)).status]).toEqual([path, 403, 401]);
      bodies.add(body);
    }
    expect(bodies.size).toBe(1);
    for (const [path, body] of acts) {
      expect([path, (await call('POST', path, { token: plain, body })).status]).toEqual([path, 403]);
    }
  });

  it('lets an auditor read everything and post nothing', async () => {
    for (const path of reads) {
      const { status } = await call('GET', path, { token: auditor });
      expect([path, status]).toEqual([path, /99|no-one/.test(path) ? 404 : 200]);
    }
    for (const [path, body] of acts) {
      expect([path, (await call('POST', path, { token: auditor, body })).status]).toEqual([path, 403]);
    }
    expect((await call('GET', '/auth/whoami', { token: auditor })).json.oversight).toBe('auditor');
  });

  it('takes no act from a page of another site, with the cookie of an administrator', async () => {
    for (const [path, body] of acts) {
      const sent = await send(`${world.url}/api/v1${path}`, {
        method: 'POST',
        headers: {
          cookie: `belay=${administrator}`,
          origin: 'https://evil.example',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams(body as Record<string, string>).toString(),
      });
      expect([path, sent.status]).toEqual([path, 403]);
    }
  });

  it('rejects forged cursors and filters that do not exist', async () => {
    for (const query of [
      'logs?cursor=1',
      'access?cursor=x.y',
      `access?cursor=1.${'-'.repeat(36)}`,
      `overdue?cursor=1.${'-'.repeat(36)}`,
      'logs?since=0000-01-01T00:00:00Z',
      'logs?until=9999-12-31T23:59:59-23:59',
      'people?cursor=x',
      'logs?nonsense=1',
      'logs?level=loud',
    ]) {
      expect([query, (await call('GET', `/admin/${query}`, { token: auditor })).status]).toEqual([query, 400]);
    }
  });

  it('rejects times that a database cannot store, of plain lists too', async () => {
    for (const query of [
      'executions?from=0000-01-01',
      'executions?decided_by=me&from=0000-01-01',
      'executions?to=9999-12-31',
      'executions?to=9999-12-31T23:59:59-23:59',
      'logs?since=0000-01-01T00:00:00Z',
    ]) {
      expect([query, (await call('GET', `/${query}`, { token: plain })).status]).toEqual([query, 400]);
    }
  });

  it('exports as CSV that no spreadsheet calculates, whole, and with its own entry', async () => {
    const messages = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1+1', ' =1+1', '＝1+1', 'a "quoted" text,\nin two lines'];
    await appendLedger(
      world.context.db,
      messages.map((message) => ({
        type: 'note' as string as EventType,
        message,
        actor: { kind: 'system' as const, name: 'test' },
        provider: '=cmd',
      })),
    );
    const answer = await send(`${world.url}/api/v1/admin/logs/export?type=note&format=csv`, {
      headers: { authorization: `Bearer ${auditor}` },
    });
    expect([answer.status, answer.headers['content-type'], answer.headers['content-disposition']]).toEqual([
      200,
      'text/csv; charset=utf-8',
      'attachment; filename="belay-audit-log.csv"',
    ]);
    const cells = answer.body.match(/"(?:[^"]|"")*"/g) ?? [];
    expect(cells).toHaveLength(11 * (messages.length + 1));
    expect(cells.filter((cell) => /^"[\s\p{C}]*[=+\-@＝＋－＠]/u.test(cell))).toEqual([]);
    expect(answer.body).toContain('"a ""quoted"" text,\nin two lines"');
    expect(answer.body).toContain('"\'=1+1"');
    const { logs } = (await call('GET', '/admin/logs?type=audit.exported&limit=1', { token: auditor })).json as {
      logs: object[];
    };
    expect(logs).toEqual([expect.objectContaining({ actor: 'bo@example.test', data: { filter: { type: 'note' } } })]);
  });

  it('streams an export of many pages, as NDJSON by default, each entry once', async () => {
    await world.context.db.transaction(async (tx) => {
      const entries = Array.from({ length: 2_300 }, (_, number) => ({
        type: 'many' as string as EventType,
        message: `note ${number}`,
        actor: { kind: 'system' as const, name: 'test' },
      }));
      await appendLedger(tx, entries);
    });
    const headers = { authorization: `Bearer ${auditor}` };
    const answer = await send(`${world.url}/api/v1/admin/logs/export?type=many`, { headers });
    const lines = answer.body
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { message: string }).message);
    expect(lines).toEqual(Array.from({ length: 2_300 }, (_, number) => `note ${2_299 - number}`));
    const csv = await send(`${world.url}/api/v1/admin/logs/export?type=many`, {
      headers: { ...headers, accept: 'text/csv' },
    });
    expect(csv.body.trim().split('\r\n')).toHaveLength(2_301);
  });
});
