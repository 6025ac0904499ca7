import { performance } from 'node:perf_hooks';
import type { Meter } from '@belay/core';
import { Histogram, Registry } from 'prom-client';

/** The measurements of a process, which GET /metrics returns. */
export interface Meters extends Meter {
  registry: Registry;
  /** Records a request that has ended; `route` is a documented path, undefined for any other path. */
  requested(what: { route: string | undefined; method: string | undefined; status: number; seconds: number }): void;
  close(): void;
}

/** How often the delay of the event loop is measured, in milliseconds. */
const interval = 100;

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const callSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const decisionSeconds = [1, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400, 604_800];
const lagSeconds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/**
 * Creates the histograms of a composition, in a registry of their own. Their labels are bounded, and contain nothing that requires
 * a login, because GET /metrics is public.
 */
export function createMeters(): Meters {
  const registry = new Registry();
  const histogram = <Label extends string>(name: string, help: string, buckets: number[], labelNames: Label[]) =>
    new Histogram({ name: `belay_${name}_seconds`, help, buckets, labelNames, registers: [registry] });
  const requests = histogram(
    'http_request_duration',
    'Time from a request to the end of its response',
    requestSeconds,
    ['route', 'method', 'status'],
  );
  const approvals = histogram('approval_duration', 'Time from opening an approval to its decision', decisionSeconds, [
    'verdict',
  ]);
  const granting = histogram('grant_duration', 'Time from a grant being due to its verified start', callSeconds, []);
  const revoking = histogram(
    'revoke_duration',
    'Time from the end of a grant to its verified removal',
    callSeconds,
    [],
  );
  const lag = histogram('event_loop_lag', 'How late a timer of this process fires', lagSeconds, []);

  let expected = performance.now() + interval;
  const looking = setInterval(() => {
    const now = performance.now();
    lag.observe(Math.max(0, now - expected) / 1_000);
    expected = now + interval;
  }, interval);
  looking.unref();

  return {
    registry,
    requested({ route = 'other', method = '', status, seconds }) {
      const labels = { route, method: methods.has(method) ? method : 'other', status: `${Math.floor(status / 100)}xx` };
      requests.observe(labels, seconds);
    },
    decided: (seconds, verdict) => approvals.observe({ verdict }, Math.max(0, seconds)),
    granted: (seconds) => granting.observe(Math.max(0, seconds)),
    revoked: (seconds) => revoking.observe(Math.max(0, seconds)),
    close: () => clearInterval(looking),
  };
}
