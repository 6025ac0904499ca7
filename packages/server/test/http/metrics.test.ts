import { isDeepStrictEqual } from 'node:util';
import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import parseMetrics from 'parse-prometheus-text-format';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callRest } from './support/caller.js';

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

/** One person gets access that another person approves, and then cancels the request. */
async function tellStory(): Promise<void> {
  const asked = await call('POST', '/elevate', { token: requester, body: { role: 'reader', reason: 'An incident' } });
  const { execution_id: id } = asked.json.output as { execution_id: string };
  await world.drive();
  const decided = await call('POST', `/approvals/${id}/decision`, { token: approver, body: { verdict: 'approve' } });
  expect([decided.status, decided.json]).toMatchObject([200, { status: 'approved' }]);
  await world.drive();
  expect(world.store.held()).toHaveLength(1);
  expect((await call('GET', `/execution/${id}/cancel`, { token: requester })).status).toBe(200);
  await world.drive();
  expect(world.store.held()).toEqual([]);
}

async function scrape(accept = 'text/plain') {
  const { headers, body } = await send(`${world.url}/metrics`, { headers: { accept } });
  return { type: headers['content-type'], body };
}

function typesOf(body: string): Record<string, string> {
  return Object.fromEntries(parseMetrics(body).map(({ name, type }) => [name, type]));
}

/** Returns every sample with its labels. Histograms are parsed as untyped, because the parser would drop their other labels. */
function samplesOf(body: string) {
  const families = parseMetrics(body.replaceAll(/ histogram$/gm, ' untyped'));
  return families.flatMap(({ name, metrics }) =>
    metrics.map(({ labels = {}, value }) => ({ name, labels, value: Number(value) })),
  );
}

function readValue(body: string, name: string, labels: Record<string, string> = {}): number | undefined {
  return samplesOf(body).find((sample) => sample.name === name && isDeepStrictEqual(sample.labels, labels))?.value;
}

/** Returns every number that may only rise: counters, and the counts, sums and buckets of histograms. */
function rising(body: string): Map<string, number> {
  const types = typesOf(body);
  const samples = samplesOf(body).filter(({ name }) =>
    ['COUNTER', 'HISTOGRAM'].includes(types[name.replace(/_(bucket|count|sum)$/, '')] ?? types[name] ?? ''),
  );
  return new Map(samples.map(({ name, labels, value }) => [`${name}${JSON.stringify(labels)}`, value]));
}

describe('GET /metrics as text', () => {
  it('returns counters, gauges and the time that each part of a request took', async () => {
    await tellStory();
    const { type, body } = await scrape('text/plain;version=0.0.4;q=0.5,*/*;q=0.1');
    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(typesOf(body)).toEqual({
      belay_total_requests: 'COUNTER',
      belay_dropped_jobs: 'COUNTER',
      belay_roles_count: 'GAUGE',
      belay_workflows_count: 'GAUGE',
      belay_providers_count: 'GAUGE',
      belay_elevate_requests: 'GAUGE',
      belay_overdue_revocations: 'GAUGE',
      belay_failing_executions: 'GAUGE',
      belay_drifted_access: 'GAUGE',
      belay_overdue_reviews: 'GAUGE',
      belay_failing_providers: 'GAUGE',
      belay_undelivered_messages: 'GAUGE',
      belay_disabled_channels: 'GAUGE',
      belay_waiting_approvals: 'GAUGE',
      belay_oldest_approval_seconds: 'GAUGE',
      belay_due_work: 'GAUGE',
      belay_queue_lag_seconds: 'GAUGE',
      belay_grants_waiting_for_restore: 'GAUGE',
      belay_archive_overdue_seconds: 'GAUGE',
      belay_http_request_duration_seconds: 'HISTOGRAM',
      belay_approval_duration_seconds: 'HISTOGRAM',
      belay_grant_duration_seconds: 'HISTOGRAM',
      belay_revoke_duration_seconds: 'HISTOGRAM',
      belay_event_loop_lag_seconds: 'HISTOGRAM',
    });
    for (const [name, labels] of [
      ['belay_approval_duration_seconds', { verdict: 'approved' }],
      ['belay_grant_duration_seconds', {}],
      ['belay_revoke_duration_seconds', {}],
    ] as const) {
      const seconds = readValue(body, `${name}_sum`, labels) ?? -1;
      expect([name, readValue(body, `${name}_count`, labels), seconds >= 0 && seconds < 60]).toEqual([name, 1, true]);
    }
  });

  it('names requests by their documented path, and everything else with one word', async () => {
    await call('GET', '/execution/0198c6b4-0000-7000-8000-000000000000', { token: requester });
    await send(`${world.url}/no/such/path`, { method: 'PROPFIND' });
    const { body } = await scrape();
    const counts = samplesOf(body).filter(({ name }) => name === 'belay_http_request_duration_seconds_count');
    const labels = counts.map((sample) => sample.labels);
    expect(labels).toContainEqual({ route: '/execution/{id}', method: 'GET', status: '4xx' });
    expect(labels).toContainEqual({ route: '/elevate', method: 'POST', status: '2xx' });
    expect(labels).toContainEqual({ route: 'other', method: 'other', status: '4xx' });
    expect(labels).not.toContainEqual(expect.objectContaining({ route: expect.stringMatching(/0198c6b4|such/) }));
  });

  it('never lets a counter fall between two reads', async () => {
    const before = rising((await scrape()).body);
    await tellStory();
    const after = rising((await scrape()).body);
    expect(before.size).toBeGreaterThan(30);
    expect([...before].filter(([name, value]) => !((after.get(name) ?? -1) >= value))).toEqual([]);
    for (const name of ['belay_total_requests{}', 'belay_grant_duration_seconds_count{}']) {
      expect([name, (after.get(name) ?? 0) > (before.get(name) ?? 0)]).toEqual([name, true]);
    }
  });

  it('is OpenMetrics for a scraper that prefers it', async () => {
    const { type, body } = await scrape('application/openmetrics-text;version=1.0.0,text/plain;q=0.5');
    expect(type).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(body).toMatch(/^# TYPE belay_total_requests counter\nbelay_total_requests_total \d+$/m);
    expect(body.endsWith('# EOF\n')).toBe(true);
  });
});
