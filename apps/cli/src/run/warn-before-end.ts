import type { AccessGrant, BelayClient } from '@belay/sdk';
import { describeDuration } from '../duration.js';
import type { Shell } from '../shell.js';

const minute = 60_000;

/** How long before the end of the access it is told, as messages do (docs/guides/notifications.md). */
const thresholds = [15 * minute, 5 * minute];

/** The longest time between two looks at the access, in milliseconds: a timer cannot be longer than 24 days. */
const longestPause = 60 * minute;

interface Warning {
  client(): Promise<BelayClient>;
  /** The execution whose access it is. */
  execution: string;
  say(text: string): void;
  signal: AbortSignal;
}

const keyOf = ({ provider, identity, access }: AccessGrant) => JSON.stringify([provider, identity, access]);

/**
 * Returns when the first of an execution's access ends, in milliseconds since 1970; undefined when none is active. `own` gets what the
 * access is: an extension is another grant of the same, and goes on when the execution's own is over.
 */
async function readEnd({ client, execution, signal }: Warning, own: Set<string>): Promise<number | undefined> {
  const { access } = await (await client()).access.list({ signal });
  for (const grant of access) if (grant.execution_id === execution) own.add(keyOf(grant));
  const ends = new Map<string, number>();
  for (const grant of access) {
    const key = keyOf(grant);
    if (!own.has(key) || grant.expires_at === null) continue;
    ends.set(key, Math.max(ends.get(key) ?? 0, Date.parse(grant.expires_at)));
  }
  return ends.size === 0 ? undefined : Math.min(...ends.values());
}

/**
 * Says 15 and 5 minutes before the access ends when that is, and how to extend it, until the signal aborts. Short access has no
 * early warning. An end that has moved is told anew.
 */
export async function warnBeforeEnd({ clock, delay }: Pick<Shell, 'clock' | 'delay'>, warning: Warning): Promise<void> {
  const { execution, say, signal } = warning;
  const own = new Set<string>();
  let end: number | undefined;
  let ahead: number[] = [];
  while (!signal.aborted) {
    // While the server is away, what it said last counts.
    const read = await readEnd(warning, own).catch(() => end ?? 'unknown');
    if (signal.aborted || read === undefined) return;
    if (read === 'unknown') {
      await delay(minute, signal).catch(() => {});
      continue;
    }
    const left = read - clock().getTime();
    // A minute has room for the time since the access became active.
    if (read !== end) ahead = thresholds.filter((threshold) => left > 2 * threshold - minute);
    end = read;
    const due = ahead.filter((threshold) => left <= threshold);
    ahead = ahead.filter((threshold) => left > threshold);
    if (due.length > 0 && left > 0) {
      const until = new Date(end).toISOString();
      say(`the access ends in ${describeDuration(left)}, at ${until}; for longer: belay extend ${execution}`);
    }
    if (left <= 0) return;
    await delay(Math.min(longestPause, left - (ahead[0] ?? 0)), signal).catch(() => {});
  }
}
