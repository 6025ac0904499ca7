import type { Check, Outcome, Setup, Status } from './check.js';
import { agent } from './checks/agent.js';
import { baseUrl } from './checks/base-url.js';
import { callbacks, configuration, providers } from './checks/configuration.js';
import { dataFolder } from './checks/data-folder.js';
import { database } from './checks/database.js';
import { environment, node } from './checks/environment.js';
import { credentials, login } from './checks/login.js';
import { port } from './checks/port.js';
import { redis } from './checks/redis.js';
import { secret } from './checks/secret.js';
import { clock, health, server } from './checks/server.js';

/** The checks in the order in which one fault can cause the next. */
export const checks: readonly Check[] = [
  node,
  environment,
  credentials,
  dataFolder,
  secret,
  port,
  baseUrl,
  configuration,
  callbacks,
  providers,
  database,
  redis,
  server,
  health,
  clock,
  login,
  agent,
];

export interface Finding extends Outcome {
  check: string;
}

/** Runs one check. A check that throws has failed, and the other checks still run. */
export async function examine(check: Check, setup: Setup): Promise<Finding[]> {
  const outcomes = await check.run(setup).catch((error: unknown): Outcome => {
    setup.shell.signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    return { status: 'failed', message, cure: 'this check failed unexpectedly: please report it' };
  });
  return [outcomes].flat().map((outcome) => ({ check: check.name, ...outcome }));
}

/** Returns how many findings have each status. */
export function countFindings(findings: Finding[]): Record<Status, number> {
  const counts = { ok: 0, warning: 0, failed: 0, skipped: 0 };
  for (const { status } of findings) counts[status] += 1;
  return counts;
}
