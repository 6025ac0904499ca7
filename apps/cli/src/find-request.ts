import type { BelayClient } from '@belay/sdk';
import { usage } from './cli-error.js';

/** The length of a complete id; a shorter text may be the beginning of one. */
const whole = 36;
/** How far the clocks that made an id and the time of its request may differ, in milliseconds. */
const drift = 60_000;

/**
 * Returns the period in which ids that begin with a text were made: the first 48 bits of an id are milliseconds (RFC 9562, section 5.7).
 * Undefined for a text that is too short, or that is not hexadecimal.
 */
function timesOf(text: string): { from: string; to: string } | undefined {
  const digits = text.replaceAll('-', '').slice(0, 12);
  if (digits.length < 7 || !/^[0-9a-f]+$/.test(digits)) return undefined;
  const [first, last] = ['0', 'f'].map((digit) => Number.parseInt(digits.padEnd(12, digit), 16)) as [number, number];
  return { from: new Date(first - drift).toISOString(), to: new Date(last + drift).toISOString() };
}

/**
 * Returns the id of the request that begins with a text. It searches the caller's own requests, those with access that the caller holds,
 * and those that wait for the caller's decision or had it. An approval's id, or its beginning, stands for its request. Throws `usage` when
 * several match; when none matches, returns the text for the server to reject.
 */
export async function findRequest(client: BelayClient, text: string, signal: AbortSignal): Promise<string> {
  if (text === '') return text;
  if (text.length >= whole) {
    const { approvals } = await client.approvals.list({ id: text }, { signal });
    return approvals[0]?.execution_id ?? text;
  }
  const [own, held, waiting] = await Promise.all([
    client.executions.list({ signal }),
    client.access.list({ signal }),
    client.approvals.list({}, { signal, limit: 100 }),
  ]);
  const requests = new Map([
    ...own.executions.map(({ workflow_id }) => [workflow_id, workflow_id] as const),
    ...held.access.map(({ execution_id }) => [execution_id, execution_id] as const),
    ...waiting.approvals.map(({ id, execution_id }) => [id, execution_id] as const),
    ...waiting.approvals.map(({ execution_id }) => [execution_id, execution_id] as const),
  ]);
  if (requests.has(text)) return text;
  const begins = [...requests].flatMap(([id, request]) => (id.startsWith(text) ? [request] : []));
  return only(text, begins) ?? (await findEnded(client, text, signal)) ?? text;
}

/**
 * Returns the id of a request, in any state, that begins with a text. It searches the requests of the time that the text encodes, or else
 * the latest requests.
 */
async function findEnded(client: BelayClient, text: string, signal: AbortSignal): Promise<string | undefined> {
  const which = { status: 'all' as const, limit: 500, ...timesOf(text), signal };
  const lists = await Promise.all([
    client.executions.list(which),
    client.executions.list({ ...which, decided_by: 'me' }),
  ]);
  const ids = lists.flatMap(({ executions }) => executions.map(({ workflow_id }) => workflow_id));
  return only(
    text,
    ids.filter((id) => id.startsWith(text)),
  );
}

function only(text: string, found: readonly string[]): string | undefined {
  const different = [...new Set(found)];
  if (different.length > 1) throw usage(`${text} is ambiguous: ${different.slice(0, 5).join(', ')}`);
  return different[0];
}
