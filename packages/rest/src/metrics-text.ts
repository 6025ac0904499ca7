/** What a scraper asks for: Prometheus's text, and OpenMetrics, which ends with a line that says so. */
export const metricsTypes = ['text/plain', 'application/openmetrics-text'] as const;

/** The numbers of an output as text for a scraper (docs/interface.md, section 16, rule 11); `belay_` in front, each a gauge of its own. */
export function renderMetrics(output: unknown, type: string): { type: string; body: string } {
  const numbers = Object.entries(output ?? {}).filter(([, value]) => typeof value === 'number');
  const lines = numbers.flatMap(([name, value]) => [`# TYPE belay_${name} gauge`, `belay_${name} ${value}`]);
  const openMetrics = type === 'application/openmetrics-text';
  return {
    type: openMetrics ? `${type}; version=1.0.0; charset=utf-8` : `${type}; version=0.0.4; charset=utf-8`,
    body: `${[...lines, ...(openMetrics ? ['# EOF'] : [])].join('\n')}\n`,
  };
}
