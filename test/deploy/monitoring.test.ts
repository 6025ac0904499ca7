import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { metrics } from '@belay/contract/system';
import { createMeters } from '@belay/server/composition';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { root } from './dockerfile.js';

const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

interface Rule {
  alert: string;
  expr: string;
  annotations: { summary: string; runbook_url: string };
}
const { groups } = parse(read('deploy/monitoring/alerts.yaml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

interface Panel {
  id: number;
  title: string;
  type: string;
  description?: string;
  gridPos: { h: number; w: number; x: number; y: number };
  targets?: { expr: string }[];
}
const dashboard = JSON.parse(read('deploy/monitoring/dashboard.json')) as { panels: Panel[] };
const panels = dashboard.panels.filter(({ type }) => type !== 'row');

/** Returns the names of all metrics of a server, as a scraper sees them. */
function measured(): Set<string> {
  const { registry, close } = createMeters();
  close();
  const histograms = registry.getMetricsAsArray().flatMap(({ name }) => [`${name}_bucket`, `${name}_count`]);
  return new Set([...Object.keys(metrics.shape).map((name) => `belay_${name}`), ...histograms]);
}

const namesIn = (expression: string) => expression.match(/\bbelay_\w+/g) ?? [];

/** Runs promtool, which the package prometheus of Debian has; CI installs it. */
function promtool(...args: string[]) {
  const { error, status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
  if (error !== undefined && process.env.CI) throw error;
  if (error !== undefined)
    return console.warn('not tested, since not installed: promtool (apt-get install prometheus)');
  expect([status, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining('SUCCESS')]);
}

const path = (name: string) => fileURLToPath(new URL(`deploy/monitoring/${name}`, root));

describe('the alerts', () => {
  it('ask only for what a server measures', () => {
    const asked = rules.flatMap(({ expr }) => namesIn(expr));
    expect(asked.length).toBeGreaterThan(10);
    expect(asked.filter((name) => !measured().has(name))).toEqual([]);
  });

  it('have each a section of the guide, and no section is without its alert', () => {
    const sections = [...read('docs/guides/alerts.md').matchAll(/^## (Belay\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(rules.map(({ alert }) => alert));
    for (const { alert, annotations } of rules)
      expect(annotations.runbook_url).toBe(`docs/guides/alerts.md#${alert.toLowerCase()}`);
  });

  it('are valid, silent while all is well, and speak when it is not', () => {
    promtool('check', 'config', path('prometheus.yaml'));
    promtool('test', 'rules', path('alerts.test.yaml'));
  });

  it('are all in their own test', () => {
    const tests = read('deploy/monitoring/alerts.test.yaml');
    expect(rules.filter(({ alert }) => !tests.includes(`alertname: ${alert}`))).toEqual([]);
  });
});

describe('the dashboard', () => {
  it('asks only for what a server measures', () => {
    const asked = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => namesIn(expr)));
    expect(asked.filter((name) => !measured().has(name))).toEqual([]);
    expect(panels.filter(({ targets = [] }) => targets.length === 0)).toEqual([]);
  });

  it('shows every number of a server, but what only counts the configuration and the process', () => {
    const asked = new Set(panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => namesIn(expr))));
    const left = [...measured()].filter((name) => !asked.has(name) && !asked.has(name.replace('_count', '_bucket')));
    expect(left).toEqual([
      'belay_uptime',
      'belay_total_requests',
      'belay_roles_count',
      'belay_workflows_count',
      'belay_providers_count',
      'belay_elevate_requests',
      'belay_disabled_channels',
      'belay_dropped_jobs',
    ]);
  });

  it('explains each panel, and lays none over another', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, nth) => `${x + (nth % w)},${y + Math.floor(nth / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    expect(panels.filter(({ description = '' }) => !description.endsWith('.'))).toEqual([]);
  });

  it('and the guide name what there is', () => {
    const documented = new Set(namesIn(read('docs/guides/operators.md')));
    const names = [...measured()].filter((name) => !/_(count|bucket|uptime)$/.test(name) || /s_count$/.test(name));
    expect(
      names.filter((name) => !documented.has(name) && name !== 'belay_uptime' && !name.endsWith('_seconds_count')),
    ).toEqual([]);
  });
});
