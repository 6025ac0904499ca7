import { setTimeout as timersWait } from 'node:timers/promises';

/** How long a process may take to be ready or to end, and a database to answer, in milliseconds. */
export const limit = 60_000;

/** A process did neither what it was waited for nor end. */
export class Hung extends Error {}

export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<unknown>;

const realWait: Wait = (milliseconds, signal) => timersWait(milliseconds, undefined, { signal });

/**
 * Waits for what a process does, for a minute at most. Throws `Hung` after that with `what`, which names the process, and the
 * last lines that `said` returns.
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

/** Returns the end of what a process said. */
export function lastLines(text: string): string {
  return text.slice(-longestQuote).trimEnd().split('\n').slice(-linesQuoted).join('\n');
}
