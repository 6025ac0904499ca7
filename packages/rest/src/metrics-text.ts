import type { Metric, Registry, RegistryContentType } from 'prom-client';
import type { DeclaredOperation } from './operations.js';

const openMetrics = 'application/openmetrics-text';

/** The media types that scrapers request: the text format of Prometheus, and OpenMetrics. */
export const metricsTypes = ['text/plain', openMetrics] as const;

/**
 * Returns the numbers of an output, and the metrics of `more`, as text for a scraper (docs/interface.md, section 16, rule 11). The
 * name of each number begins with `belay_`. In OpenMetrics the samples of a counter end in `_total`, as that format requires.
 */
export async function renderMetrics(
  { rest, output: schema }: Pick<DeclaredOperation, 'rest' | 'output'>,
  output: unknown,
  { type, more }: { type: string; more?: Registry | undefined },
): Promise<{ type: string; body: string }> {
  // Loaded with the first scrape, because most agents are never scraped.
  const { Counter, Gauge, Registry } = (await import('prom-client')).default;
  const registry: Registry<RegistryContentType> = new Registry();
  registry.setContentType(type === openMetrics ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE);
  for (const [name, value] of Object.entries(output ?? {})) {
    if (typeof value !== 'number') continue;
    const help = schema?.shape[name]?.description ?? name;
    const described = { name: `belay_${name}`, help, registers: [registry] };
    if (rest.metrics?.counters.includes(name) === true) new Counter(described).inc(value);
    else new Gauge(described).set(value);
  }
  // By their type they are plain objects; in fact they are the metrics themselves.
  for (const metric of (more?.getMetricsAsArray() ?? []) as unknown as Metric[]) {
    registry.registerMetric(metric);
  }
  return { type: registry.contentType, body: await registry.metrics() };
}
