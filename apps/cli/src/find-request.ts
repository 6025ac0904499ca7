import type { BelayClient } from '@belay/sdk';
import { usage } from './cli-error.js';

/** The length of a whole id; anything shorter may be its beginning. */
const whole = 36;

/**
 * Returns the id of the request that begins with a text, among those that are the caller's own, hold access, or wait for
 * the caller's decision. Throws `usage` when several do; a text that begins none is returned for the server to reject.
 */
export async function findRequest(client: BelayClient, text: string, signal: AbortSignal): Promise<string> {
  if (text.length >= whole || text === '') return text;
  const [own, held, waiting] = await Promise.all([
    client.executions.list({ signal }),
    client.access.list({ signal }),
    client.approvals.list({}, { signal, limit: 100 }),
  ]);
  const ids = [
    ...own.executions.map(({ workflow_id }) => workflow_id),
    ...held.access.map(({ execution_id }) => execution_id),
    ...waiting.approvals.map(({ execution_id }) => execution_id),
  ];
  return chooseId(text, ids) ?? text;
}

/** Returns the one id that begins with a text. Throws `usage` when there are several, and names them. */
export function chooseId(text: string, ids: readonly string[]): string | undefined {
  const found = [...new Set(ids)].filter((id) => id.startsWith(text));
  if (found.includes(text)) return text;
  if (found.length > 1) throw usage(`${text} is ambiguous: ${found.slice(0, 5).join(', ')}`);
  return found[0];
}
