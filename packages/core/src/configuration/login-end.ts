import type { ErrorIssue } from '@belay/contract/errors';
import { readDuration } from '../duration.js';
import { timing } from '../timing.js';
import type { CatalogDocument } from './schema.js';

/** Returns when logins end however much they are used: what is built in, or what the operator says if that is shorter. */
export function compileLoginEnd(
  given: CatalogDocument['server']['login'],
  issues: ErrorIssue[],
): { browser: number; device: number } {
  const read = (kind: 'browser' | 'device', longest: string) => {
    const path = `server.login.${kind}`;
    const asked = readDuration(given?.[kind], path, issues);
    if (asked === undefined) return timing.loginEnd[kind];
    if (asked < 60_000) issues.push({ path, message: 'must be at least one minute (PT1M)' });
    if (asked > timing.loginEnd[kind]) issues.push({ path, message: `must not be longer than ${longest}` });
    return asked;
  };
  return { browser: read('browser', 'PT12H'), device: read('device', 'P7D') };
}
