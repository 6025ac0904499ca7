import { setTimeout as timersWait } from 'node:timers/promises';

/** How long a process may take to become ready or to end, and a database to respond, in milliseconds. */
export const limit = 60_000;

/** Thrown when a process neither did what was expected nor ended in time. */
export class Hung extends Error {}

export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<unknown>;

const realWait: Wait = (milliseconds, signal) => timersWait(milliseconds, undefined, { signal });

/**
 * Waits for `work` of a process for a minute at most. Then throws `Hung` with `what`, which names the process, and the last lines of
 * the output that `said` returns.
 */
export async function within<T>(
  work: Promise<T>,
  what: string,
  {
    said = async () => '',
    wait = realWait,
  }: { said?: (() => Promise<string>) | undefined; wait?: Wait | undefined } = {},
): Promise<T> {
  const over = new AbortController();
  const late = wait(limit, over.signal).then(async () => {
    const last = lastLines(await said().catch(() => ''));
    throw new Hung(`${what} within ${limit / 1_000} s${last === '' ? '' : `; it said last:\n${last}`}`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

/** How much of the output of a process is quoted, in characters and in lines. */
const longestQuote = 4_000;
const linesQuoted = 10;

/** Returns the last lines of what a process wrote. */
export function lastLines(text: string): string {
  return text.slice(-longestQuote).trimEnd().split('\n').slice(-linesQuoted).join('\n');
}
