import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import parseMetrics from 'parse-prometheus-text-format';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { callRest } from './support/caller.js';

const alerts = fileURLToPath(new URL('../../../../deploy/monitoring/alerts.yaml', import.meta.url));
// `promtool` is in Debian's package prometheus, which CI installs.
const installed = Boolean(process.env.CI) || spawnSync('promtool', ['--version']).error === undefined;
if (!installed) console.warn('not tested, since not installed: promtool (apt-get install prometheus)');

describe.skipIf(!installed)('the alerts of deploy/monitoring, on what a server returns', () => {
  let world: World;
  let folder: string;
  beforeEach(async () => {
    world = await createWorld();
    await world.database.setTime(new Date());
    folder = await mkdtemp(join(tmpdir(), 'belay-alerts-'));
  });
  afterEach(async () => {
    await world[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  async function elevate(): Promise<string> {
    const asked = await callRest(world.url, 'POST', '/elevate', {
      token: await world.token('requester'),
      body: { role: 'reader', reason: 'An incident' },
    });
    await world.drive();
    return (asked.json.output as { execution_id: string }).execution_id;
  }

  async function activate(): Promise<string> {
    const id = await elevate();
    const decision = { token: await world.token('approver'), body: { verdict: 'approve' } };
    expect((await callRest(world.url, 'POST', `/approvals/${id}/decision`, decision)).status).toBe(200);
    return id;
  }

  /** Expects exactly these alerts to fire when the server continues to return its current metrics. */
  async function expectFiring(names: readonly string[]): Promise<void> {
    const { body } = await send(`${world.url}/metrics`, { headers: { accept: 'text/plain' } });
    const gauges = parseMetrics(body).filter(({ type }) => type === 'GAUGE');
    const series = gauges.map(({ name, metrics }) => ({
      series: `${name}{job="belay", instance="a"}`,
      values: `${(metrics[0] as { value: string }).value}x60`,
    }));
    const test = {
      rule_files: [alerts],
      evaluation_interval: '30s',
      tests: [
        {
          interval: '30s',
          input_series: [{ series: 'up{job="belay", instance="a"}', values: '1x60' }, ...series],
          promql_expr_test: [
            {
              expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
              eval_time: '20m',
              exp_samples: names.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
            },
          ],
        },
      ],
    };
    const file = join(folder, 'test.yaml');
    await writeFile(file, stringify(test));
    const { error, status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
    if (error !== undefined) throw error;
    expect([status, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining('SUCCESS')]);
  }

  it('are silent after a request that was granted and given back', async () => {
    const id = await activate();
    await world.drive();
    await callRest(world.url, 'GET', `/execution/${id}/cancel`, { token: await world.token('requester') });
    await world.drive();
    await expectFiring([]);
  });

  it('speak of a provider that fails, and of access that it keeps', async () => {
    const id = await activate();
    await world.drive();
    world.store.inject('ensureAbsent', { kind: 'conflict' }, 1_000);
    await callRest(world.url, 'GET', `/execution/${id}/cancel`, { token: await world.token('requester') });
    await world.drive();
    await expectFiring(['BelayProviderFails']);
    await world.database.advance(2 * 60_000);
    await world.drive();
    await expectFiring(['BelayProviderFails', 'BelayRevocationOverdue']);
  });

  it('speak of workers that are away, and of an approval without a decision', async () => {
    await activate();
    await world.database.advance(5 * 60_000);
    await expectFiring(['BelayWorkNotTaken']);
    await world.drive();
    await elevate();
    await world.database.sql`update approvals set expires_at = app_now() + interval '1 day' where status = 'open'`;
    await world.database.advance(5 * 3_600_000);
    await world.drive();
    await expectFiring(['BelayApprovalsWait']);
  });
});
