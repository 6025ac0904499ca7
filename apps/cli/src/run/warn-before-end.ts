import type { AccessGrant, BelayClient } from '@belay/sdk';
import { describeDuration } from '../duration.js';
import type { Shell } from '../shell.js';

const minute = 60_000;

/** How long before the end of the access to warn, at the same times as messages do (docs/guides/notifications.md). */
const thresholds = [15 * minute, 5 * minute];

/** The longest time between two reads of the access, in milliseconds: a timer cannot be longer than 24 days. */
const longestPause = 60 * minute;

interface Warning {
  client(): Promise<BelayClient>;
  /** The execution that the access belongs to. */
  execution: string;
  say(text: string): void;
  signal: AbortSignal;
}

const keyOf = ({ provider, identity, access }: AccessGrant) => JSON.stringify([provider, identity, access]);

/**
 * Returns when the first of an execution's access ends, in milliseconds since 1970; undefined when none is active. Adds the keys of the
 * access to `own`: an extension is another grant with the same key, and outlasts the execution's own grant.
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
 * Warns 15 and 5 minutes before the access ends, and says how to extend it, until the signal aborts. Short access gets no early warning.
 * When the end moves, the warnings start again.
 */
export async function warnBeforeEnd({ clock, delay }: Pick<Shell, 'clock' | 'delay'>, warning: Warning): Promise<void> {
  const { execution, say, signal } = warning;
  const own = new Set<string>();
  let end: number | undefined;
  let ahead: number[] = [];
  while (!signal.aborted) {
    // While the server does not respond, the last known end counts.
    const read = await readEnd(warning, own).catch(() => end ?? 'unknown');
    if (signal.aborted || read === undefined) return;
    if (read === 'unknown') {
      await delay(minute, signal).catch(() => {});
      continue;
    }
    const left = read - clock().getTime();
    // The minute allows for the time since the access became active.
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
