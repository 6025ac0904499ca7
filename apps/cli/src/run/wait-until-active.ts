import { type BelayClient, type ExecutionDetails, isBelayError } from '@belay/sdk';
import { CliError } from '../cli-error.js';
import { describeWait, endedWith, isActive } from '../follow-execution.js';
import type { Shell } from '../shell.js';

interface Waiting extends Pick<Shell, 'clock' | 'delay'> {
  say(text: string): void;
  signal: AbortSignal;
}

/** The pause before a server that does not respond is tried again, in milliseconds. */
const pause = 2_000;

/** How long the server may be unavailable before the wait fails, in milliseconds. */
const longestOutage = 15 * 60_000;

/** Returns whether a server may respond again after this error. */
export function isAway(error: unknown): boolean {
  return (['network', 'unavailable', 'too_many_requests'] as const).some((code) => isBelayError(error, code));
}

/**
 * Resolves when all access of a request is active. Throws `ended_without_access` when the request ended without it.
 * Continues through an outage of the server: the request still exists, and people may have waited hours for the
 * approval. `say` receives what it waits for.
 */
export async function waitUntilActive(
  client: BelayClient,
  id: string,
  { say, clock, delay, signal }: Waiting,
): Promise<ExecutionDetails> {
  let since: number | undefined;
  const heard = (text: string) => {
    since = undefined;
    say(text);
  };
  for (;;) {
    try {
      return await followUntilActive(client, id, { say: heard, signal });
    } catch (error) {
      const now = clock().getTime();
      since ??= now;
      if (signal.aborted || !isAway(error) || now - since > longestOutage) throw error;
      say('the server does not respond; waiting for it');
      await delay(pause, signal);
    }
  }
}

async function followUntilActive(
  client: BelayClient,
  id: string,
  { say, signal }: Pick<Waiting, 'say' | 'signal'>,
): Promise<ExecutionDetails> {
  const first = await client.executions.get(id, { signal });
  if (isActive(first)) return first;
  say(describeWait(first) ?? 'waiting for the access');
  for await (const event of client.executions.watch(id, { signal })) {
    if (!/^(approval|entitlement|grant)\./.test(event.event_type)) continue;
    const details = await client.executions.get(id, { signal });
    if (isActive(details)) return details;
    say(describeWait(details) ?? event.message);
  }
  const last = await client.executions.get(id, { signal });
  if (isActive(last)) return last;
  throw new CliError('ended_without_access', `no access was granted: ${endedWith(last)}`);
}
