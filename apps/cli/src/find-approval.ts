import type { BelayClient, InboxEntry } from '@belay/sdk';
import { CliError, usage } from './cli-error.js';
import { describeDuration, readDuration } from './duration.js';
import type { Shell } from './shell.js';

/**
 * Returns the open approval by its id, by its execution's id, or by the beginning of either. Without an id, the person selects one on a
 * terminal. Throws `not_found` when no such approval waits for the caller, and `usage` when the id is ambiguous.
 */
export async function findApproval(
  client: BelayClient,
  id: string | undefined,
  { shell, interactive }: { shell: Shell; interactive: boolean },
): Promise<InboxEntry> {
  const { signal } = shell;
  if (id === undefined) return pick(client, { shell, interactive });
  const { approvals } = await client.approvals.list({ id }, { signal });
  const exact = approvals.find((approval) => approval.id === id || approval.execution_id === id);
  return exact ?? findByBeginning(client, id, signal);
}

async function findByBeginning(client: BelayClient, text: string, signal: AbortSignal): Promise<InboxEntry> {
  const found: InboxEntry[] = [];
  let cursor: string | undefined;
  // Continue with the next pages: a second request with the same beginning may be on one of them.
  do {
    const page = await client.approvals.list({}, { signal, ...(cursor !== undefined && { cursor }) });
    // The ids of a request and of its approval are made at nearly the same moment, so they begin alike.
    const alike = ({ id, execution_id }: InboxEntry) => [id, execution_id].some((one) => one.startsWith(text));
    found.push(...page.approvals.filter(alike));
    cursor = page.next ?? undefined;
  } while (cursor !== undefined && found.length < 2);
  if (found.length > 1)
    throw usage(
      `${text} is ambiguous: ${found
        .slice(0, 5)
        .map(({ id }) => id)
        .join(', ')}`,
    );
  const [entry] = found;
  if (entry === undefined)
    throw new CliError('not_found', `request ${text} does not wait for your decision; see: belay inbox`);
  return entry;
}

async function pick(
  client: BelayClient,
  { shell, interactive }: { shell: Shell; interactive: boolean },
): Promise<InboxEntry> {
  if (!interactive) throw usage('name the request by its id; see: belay inbox');
  const { approvals } = await client.approvals.list({}, { signal: shell.signal, limit: 100 });
  if (approvals.length === 0) throw new CliError('not_found', 'no requests wait for your decision');
  const chosen = await shell.prompts.select(
    'Which request?',
    approvals.map(({ id, requester, role, duration, reason }) => ({
      value: id,
      label: `${requester.name}: ${role} for ${describeDuration(readDuration(duration) ?? 0)}`,
      hint: reason,
    })),
  );
  const entry = approvals.find(({ id }) => id === chosen);
  if (entry === undefined) throw new CliError('not_found', 'the request no longer waits for your decision');
  return entry;
}
