import { setTimeout as wait } from 'node:timers/promises';
import type { History } from '../history.js';

const every = 250;

/** Probes the readiness of every server four times a second until `signal` aborts. */
export async function probeReadiness(
  servers: readonly { name: string; url: string }[],
  history: History,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(
    servers.map(async ({ name, url }) => {
      while (!signal.aborted) {
        const at = Date.now();
        const started = performance.now();
        let outcome: number | 'network' | 'timeout';
        try {
          const response = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(20_000) });
          await response.arrayBuffer();
          outcome = response.status;
        } catch (error) {
          outcome = (error as Error).name === 'TimeoutError' ? 'timeout' : 'network';
        }
        const took = performance.now() - started;
        history.attempts.push({ server: name, operation: 'ready', at, took, outcome, expected: outcome === 200 });
        await wait(Math.max(0, every - took));
      }
    }),
  );
}
