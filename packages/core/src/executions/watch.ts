import type { ExecutionEvent, WorkflowStatus } from '@belay/contract/executions';
import type { ActorStore } from '../context.js';
import { findExecution } from '../find-execution.js';
import { joinFeed, readEvents } from './feed.js';

/**
 * Yields every event of an execution with a number above `after`, until the execution has ended and nothing is left of
 * its grants at any provider. All watchers of an execution in one process share one reader, and store only their
 * position in it. Throws `not_found` when the caller may not see the execution, and the error of a first read that
 * fails; ends without an error when the signal aborts. Waits while the database is unreachable.
 */
export async function* watchExecution(
  ctx: ActorStore,
  input: { id: string; after?: number | undefined; signal: AbortSignal },
): AsyncGenerator<ExecutionEvent, void, undefined> {
  const { id, after = 0, signal } = input;
  await findExecution(ctx, ctx.actor, id);
  const { feed, leave } = joinFeed(ctx, id);
  try {
    await feed.ready;
    let newest = after;
    let known = after;
    let place = -1;
    while (!signal.aborted) {
      // At the start, and when the reader has dropped events that this watcher has not seen.
      if (place < feed.dropped) {
        const upTo = feed.floor;
        known = Math.max(newest, upTo);
        for await (const event of readOlder(ctx, { id, status: feed.status, after: newest, upTo, signal })) {
          newest = Math.max(newest, event.seq);
          yield event;
        }
        newest = known;
        // Unless the reader has dropped more events meanwhile.
        if (feed.floor === upTo) place = feed.dropped;
        continue;
      }
      const event = feed.events[place - feed.dropped];
      if (event !== undefined) {
        place += 1;
        if (event.seq <= known) continue;
        newest = Math.max(newest, event.seq);
        yield event;
      } else if (feed.over) return;
      else await feed.changed(signal);
    }
  } finally {
    leave();
  }
}

interface Older {
  id: string;
  status: WorkflowStatus;
  after: number;
  upTo: number;
  signal: AbortSignal;
}

/** Yields the events between two numbers that the feed does not keep, page by page. */
async function* readOlder(ctx: ActorStore, { id, status, after, upTo, signal }: Older): AsyncGenerator<ExecutionEvent> {
  for (let from = after; from < upTo && !signal.aborted; ) {
    const page = await readEvents(ctx, id, { after: from, upTo, status });
    yield* page;
    from = page.at(-1)?.seq ?? upTo;
  }
}
