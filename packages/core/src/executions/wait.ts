import { jitter } from '@belay/contract/back-off';
import { AccessError, invalid } from '@belay/contract/errors';
import type { ExecutionDetails, WaitTarget } from '@belay/contract/executions';
import { hasReached } from '@belay/contract/wait-target';
import { within } from '@belay/providers';
import type { ActorStore } from '../context.js';
import { requireDuration } from '../duration.js';
import { type GetExecution, getExecution } from './get.js';
import { glancesOf } from './glance.js';

const usual = 'PT20S';
/** The longest wait, in milliseconds, because proxies give up on slower responses. */
const longest = 30_000;
/**
 * How long the database may be unreachable before the wait ends, in milliseconds. A database that does not respond is noticed only later.
 */
const patience = 5_000;
/** The first wait between two reads without a notification, in milliseconds; it doubles up to `longestPoll`. */
const firstPoll = 250;
/** The same after a new mark: a statement that began before the mark was committed notifies of nothing, and may commit later. */
const soon = 50;
/**
 * The longest of these waits, in milliseconds. A silent database is detected up to six and a half seconds after a read, and the
 * request must end within ten.
 */
const longestPoll = 2_000;
/** The longest wait between two reads while they fail, in milliseconds. */
const awayPoll = 1_000;

/**
 * Returns an execution as `getExecution` does, when it has reached `until` or the time of `wait` has passed; its
 * `state` tells which. Without `until`, returns immediately. Throws `invalid` for a wait that is too long or without
 * `until`, `unavailable` when there is no response 4 s after that time (9 s after the call, where that is later), the
 * error of the database when it is unreachable for 5 s, and the errors of `getExecution`.
 */
export async function waitForExecution(
  ctx: ActorStore,
  input: GetExecution & { until?: WaitTarget | undefined; wait?: string | undefined; signal: AbortSignal },
): Promise<ExecutionDetails> {
  const { id, until, limit, cursor, signal } = input;
  const get = () => getExecution(ctx, { id, limit, cursor });
  if (until === undefined) {
    if (input.wait !== undefined) throw invalid('wait', 'must be used together with "until", the state to wait for');
    return get();
  }
  const milliseconds = readWait(input.wait);
  const over = within(signal, milliseconds);
  const waiting = waitUntil(ctx, { id, until, signal: over, get });
  return inTime(ctx, waiting, over, limitOfWait(ctx, input.wait) - milliseconds);
}

/** Returns how long a call with this `wait` may take, in milliseconds. Throws `invalid` for a wait that is too long. */
export function limitOfWait({ timing }: Pick<ActorStore, 'timing'>, wait: string | undefined): number {
  return Math.max(timing.response.limit, readWait(wait) + timing.response.afterWait);
}

function readWait(wait: string | undefined): number {
  const milliseconds = requireDuration(wait ?? usual, 'wait');
  if (milliseconds > longest) throw invalid('wait', 'is longer than PT30S, the longest allowed; call again instead');
  return milliseconds;
}

/**
 * Returns what `get` reads when the execution has reached `until` or the signal aborts. Only its state and its status are read after
 * each notification, and periodically for lost ones, with one statement for all waits of this process.
 */
async function waitUntil(
  ctx: ActorStore,
  {
    id,
    until,
    signal,
    get,
  }: { id: string; until: WaitTarget; signal: AbortSignal; get: () => Promise<ExecutionDetails> },
): Promise<ExecutionDetails> {
  const glances = glancesOf(ctx);
  const news = listen(ctx, id, signal);
  try {
    // Where changes are notified already, nothing can be missed after the first read.
    const marked = glances.isMarked(id);
    if (!marked) news.note();
    const found = await get();
    if (hasReached(until, found)) return found;
    // The mark is set before the state is read, so that later changes are notified.
    const look = async (now: boolean) => {
      await glances.mark(id);
      return now ? glances.stateOf(id) : glances.laterStateOf(id);
    };
    let away: number | undefined;
    for (let poll = marked ? firstPoll : soon; !signal.aborted; ) {
      const heard = await news.next(away === undefined ? poll : Math.min(poll, awayPoll));
      // An execution that keeps changing has news after every read, and would keep this loop running.
      if (signal.aborted) break;
      const now = heard || poll < firstPoll;
      if (!heard) poll = Math.min(poll * 2, longestPoll);
      const began = ctx.clock().getTime();
      try {
        const standing = await look(now);
        away = undefined;
        if (standing && !hasReached(until, standing)) continue;
      } catch (error) {
        // The failure was logged once for all waits.
        away ??= began;
        if (ctx.clock().getTime() - away >= patience) throw error;
        continue;
      }
      const again = await get();
      if (hasReached(until, again)) return again;
    }
    return await get();
  } finally {
    news.close();
  }
}

/**
 * Notes the notifications of an execution. `next` resolves at the next one, after about so many milliseconds, or when the signal
 * aborts, and returns whether there was one.
 */
function listen(ctx: ActorStore, id: string, signal: AbortSignal) {
  let noted = false;
  let wake = () => {};
  const note = () => {
    noted = true;
    wake();
  };
  const end = () => wake();
  const unsubscribe = ctx.changes?.subscribe(id, note);
  signal.addEventListener('abort', end, { once: true });
  return {
    note,
    async next(milliseconds: number): Promise<boolean> {
      const waited = new AbortController();
      wake = () => waited.abort();
      const pause = jitter(milliseconds, (ctx.randomBytes(1)[0] ?? 0) / 255);
      if (!noted && !signal.aborted) await ctx.delay(pause, waited.signal).catch(() => undefined);
      const heard = noted;
      noted = false;
      return heard;
    },
    close() {
      unsubscribe?.();
      signal.removeEventListener('abort', end);
    },
  };
}

/** Returns the result of the work. Throws `unavailable` when the work continues for some milliseconds after the signal. */
async function inTime<T>(ctx: ActorStore, work: Promise<T>, over: AbortSignal, milliseconds: number): Promise<T> {
  const answered = new AbortController();
  const late = aborted(over)
    .then(() => ctx.delay(milliseconds, answered.signal))
    .then((): never => {
      throw new AccessError('unavailable', 'The execution cannot be read at the moment; try again');
    });
  // The result of the slower one is ignored.
  for (const one of [work, late]) one.catch(() => undefined);
  return Promise.race([work, late]).finally(() => answered.abort());
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
