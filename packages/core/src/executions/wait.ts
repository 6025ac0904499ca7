import { AccessError, invalid } from '@belay/contract/errors';
import type { ExecutionDetails, ExecutionState, WaitTarget } from '@belay/contract/executions';
import { within } from '@belay/providers';
import type { ActorStore } from '../context.js';
import { requireDuration } from '../duration.js';
import { type GetExecution, getExecution } from './get.js';
import { lastSeq } from './history.js';
import { watchExecution } from './watch.js';

/** The states before each target. A request that has ended has nothing to wait for. */
const before: Readonly<Record<WaitTarget, readonly ExecutionState[]>> = {
  approval: ['running'],
  decision: ['running', 'waiting_for_approval'],
  active: ['running', 'waiting_for_approval', 'granting'],
  ended: ['running', 'waiting_for_approval', 'granting', 'active', 'ending'],
};

const usual = 'PT20S';
/** The longest wait, in milliseconds, because proxies give up on slower responses. */
const longest = 30_000;
/**
 * How long the database may be unreachable before the wait ends, in milliseconds. A database that does not respond is noticed only later.
 */
const patience = 5_000;

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

/** Returns what `get` reads when the execution has reached `until` or the signal aborts. */
async function waitUntil(
  ctx: ActorStore,
  {
    id,
    until,
    signal,
    get,
  }: { id: string; until: WaitTarget; signal: AbortSignal; get: () => Promise<ExecutionDetails> },
): Promise<ExecutionDetails> {
  // The position is read before the state, so that nothing between the two is missed.
  let found = await get();
  const isTooEarly = () => before[until].includes(found.state);
  if (!isTooEarly()) return found;
  const after = await lastSeq(ctx.db, id);
  found = await get();
  if (!isTooEarly()) return found;
  for await (const _event of watchExecution(ctx, { id, after, signal, patience })) {
    // An execution that keeps moving has a new event after every read, and would keep this loop running.
    if (signal.aborted) break;
    found = await get();
    if (!isTooEarly()) return found;
  }
  return get();
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
