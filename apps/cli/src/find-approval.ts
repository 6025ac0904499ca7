import type { BelayClient, InboxEntry } from '@belay/sdk';
import { CliError } from './cli-error.js';

/** Returns the open approval by its id or by its execution's id. Throws `not_found` when none waits for the caller. */
export async function findApproval(client: BelayClient, id: string, signal: AbortSignal): Promise<InboxEntry> {
  const { approvals } = await client.approvals.list({ id }, { signal });
  const entry = approvals.find((approval) => approval.id === id || approval.execution_id === id);
  if (entry === undefined)
    throw new CliError('not_found', `request ${id} does not wait for your decision; see: belay inbox`);
  return entry;
}
