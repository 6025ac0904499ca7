import type { BelayClient, ExecutionDetails } from '@belay/sdk';
import { CliError } from '../cli-error.js';
import { describeWait, endedWith, isActive } from '../follow-execution.js';

/**
 * Resolves when all access of a request is active. Throws when it ended without that. `say` gets what it waits for.
 */
export async function waitUntilActive(
  client: BelayClient,
  id: string,
  { say, signal }: { say(text: string): void; signal: AbortSignal },
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
