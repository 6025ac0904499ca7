import { jitter } from '@belay/contract/back-off';
import type { ExecutionEvent, WorkflowStatus } from '@belay/contract/executions';
import { isOutage } from '@belay/contract/outage';
import { type Database, executions, grants } from '@belay/db';
import { taskEventsPerRow } from '@belay/engine';
import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { noteOutage } from '../outage.js';
import { glancesOf } from './glance.js';
import { type Happening, readHappenings } from './history.js';

/**
 * How many numbers back each read searches for rows that were committed late, below a number that was already read: a
 * thousand rows.
 */
const overlap = 1_000 * taskEventsPerRow;
/**
 * The maximum number of events of one read. A feed with more than twice as many keeps the newest of this number;
 * watchers read the dropped events from the database.
 */
const kept = 500;
/** The first wait between two reads, in milliseconds; it doubles up to `timing.watchPoll`. */
const firstPoll = 250;
/** The longest wait between two reads while they fail, in milliseconds. */
const awayPoll = 1_000;

/** The reader of one execution in this process, shared by all its watchers. */
export interface Feed {
  /** Resolves when the first read is done; rejects when it failed. */
  ready: Promise<void>;
  /** The newest events, in the order in which they were read. */
  events: ExecutionEvent[];
  /** How many events were dropped in front of `events`. */
  dropped: number;
  /** Every event up to this number that is not in `events` is only in the database. */
  floor: number;
  status: WorkflowStatus;
  /** The execution has ended, nothing is left of its grants, and every event was read. */
  over: boolean;
  /** Resolves when events were added, the feed is over, or the signal aborts. */
  changed(signal: AbortSignal): Promise<void>;
}

interface Shared extends Feed {
  /** The latest read has failed, or has not ended. */
  failing: boolean;
  watchers: number;
  waiting: Set<() => void>;
  stop: AbortController;
}

const feeds = new WeakMap<Database, Map<string, Shared>>();

/**
 * Joins the reader of an execution in this process, and starts it for the first watcher. `leave` must be called once; the reader stops when
 * the last watcher has left.
 */
export function joinFeed(ctx: Store, id: string): { feed: Feed; leave(): void } {
  const open = feeds.get(ctx.db) ?? new Map<string, Shared>();
  feeds.set(ctx.db, open);
  const feed = open.get(id) ?? startFeed(ctx, id);
  open.set(id, feed);
  feed.watchers += 1;
  const forget = () => {
    if (open.get(id) === feed) open.delete(id);
  };
  // A watcher that joins after a failed start starts a new reader.
  feed.ready.catch(forget);
  return {
    feed,
    leave() {
      feed.watchers -= 1;
      if (feed.watchers > 0) return;
      forget();
      feed.stop.abort();
    },
  };
}

function startFeed(ctx: Store, id: string): Shared {
  const waiting = new Set<() => void>();
  const stop = new AbortController();
  const feed: Shared = {
    ready: Promise.resolve(),
    events: [],
    dropped: 0,
    floor: 0,
    status: 'pending',
    over: false,
    failing: false,
    watchers: 0,
    waiting,
    stop,
    changed: (signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve();
        const done = () => {
          waiting.delete(done);
          signal.removeEventListener('abort', done);
          resolve();
        };
        waiting.add(done);
        signal.addEventListener('abort', done, { once: true });
      }),
  };
  const reader = createReader(ctx, id, feed);
  feed.ready = reader.look();
  follow(ctx, id, feed, reader).catch((error: unknown) =>
    ctx.log.error({ error }, 'an execution is no longer followed'),
  );
  return feed;
}

/** Reads at each notified change, and periodically for lost notifications, until the feed ends. */
async function follow(ctx: Store, id: string, feed: Shared, { look, isNews }: Reader): Promise<void> {
  const { signal } = feed.stop;
  try {
    await feed.ready;
  } catch {
    return;
  }
  let heard = false;
  let wake = () => {};
  signal.addEventListener('abort', () => wake(), { once: true });
  const unsubscribe = ctx.changes?.subscribe(id, () => {
    heard = true;
    wake();
  });
  try {
    for (let poll = firstPoll; !feed.over && !signal.aborted; poll = Math.min(poll * 2, ctx.timing.watchPoll)) {
      const waited = new AbortController();
      wake = () => waited.abort();
      if (feed.failing) poll = Math.min(poll, awayPoll);
      const pause = jitter(poll, (ctx.randomBytes(1)[0] ?? 0) / 255);
      if (!heard) await ctx.delay(pause, waited.signal).catch(() => undefined);
      if (signal.aborted) return;
      // Without a notification, one query, shared by all readers, tells whether there is anything to read.
      if (!heard && !(await isNews()) && !heard) continue;
      if (signal.aborted) return;
      heard = false;
      await look().catch((error: unknown) => {
        if (isOutage(error)) noteOutage(ctx, error);
        else ctx.log.warn({ error, execution: id }, 'an execution could not be read');
      });
    }
  } finally {
    unsubscribe?.();
  }
}

interface Reader {
  /** Adds the new events. Wakes all waiters when there are any, or the feed is over. */
  look(): Promise<void>;
  /** Returns whether anything has changed since the last call; false when that cannot be read now. */
  isNews(): Promise<boolean>;
}

function createReader(ctx: Store, id: string, feed: Shared): Reader {
  const glances = glancesOf(ctx);
  const seen = new Set<number>();
  let cursor = 0;
  let glanced: string | undefined;
  const after = () => Math.max(feed.floor, cursor - overlap);
  async function look(): Promise<void> {
    // The mark is set before the rows are read, so that rows that are written later are notified.
    await glances.mark(id);
    const state = await readState(ctx, id);
    const rows = await readHappenings(ctx.db, id, { after: after(), from: 'newest', limit: kept });
    const oldest = rows[0]?.seq ?? 0;
    feed.status = state.status;
    // When the oldest row of a full page is new, older new rows must be read from the database.
    if (rows.length === kept && !seen.has(oldest)) {
      drop(feed, feed.events.length, oldest - 1);
      seen.clear();
    }
    const fresh = rows.filter(({ seq }) => !seen.has(seq));
    for (const row of fresh) {
      seen.add(row.seq);
      cursor = Math.max(cursor, row.seq);
      feed.events.push(toEvent(row, state.status));
    }
    if (feed.events.length > 2 * kept) drop(feed, feed.events.length - kept, feed.floor);
    for (const seq of seen) if (seq <= Math.max(feed.floor, cursor - overlap)) seen.delete(seq);
    feed.over = state.over;
    if (fresh.length > 0 || feed.over) for (const tell of [...feed.waiting]) tell();
  }
  /** Reads, and notes whether that fails. */
  async function reading<T>(read: () => Promise<T>): Promise<T> {
    feed.failing = true;
    const result = await read();
    feed.failing = false;
    return result;
  }
  return {
    look: () => reading(look),
    async isNews() {
      const from = after();
      try {
        const state = `${from} ${await reading(() => glances.at({ id, after: from }))}`;
        if (state !== glanced) {
          glanced = state;
          return true;
        }
        await glances.mark(id);
      } catch {
        // The failure was logged once for all readers.
      }
      return false;
    },
  };
}

/** Drops the oldest events. These, and all events up to `floor`, are then only in the database. */
function drop(feed: Shared, count: number, floor: number): void {
  const gone = feed.events.splice(0, count);
  feed.dropped += gone.length;
  feed.floor = gone.reduce((highest, { seq }) => Math.max(highest, seq), Math.max(feed.floor, floor));
}

function toEvent({ seq, type, at, message, task }: Happening, status: WorkflowStatus): ExecutionEvent {
  return {
    seq,
    event_type: type,
    timestamp: at.toISOString(),
    message,
    ...(task === undefined ? {} : { task }),
    status,
  };
}

/** Returns one page of the events between two numbers (`after` excluded, `upTo` included), oldest first. */
export async function readEvents(
  ctx: Store,
  id: string,
  { after, upTo, status }: { after: number; upTo: number; status: WorkflowStatus },
): Promise<ExecutionEvent[]> {
  const part = { after, before: upTo + 1, from: 'oldest', limit: kept } as const;
  return (await readHappenings(ctx.db, id, part)).map((happening) => toEvent(happening, status));
}

/**
 * Returns the status and whether the execution is over. Called before the rows are read, so that an execution that is
 * over has no unread row.
 */
async function readState(ctx: Store, id: string): Promise<{ status: WorkflowStatus; over: boolean }> {
  const [row] = await ctx.db
    .select({
      status: executions.status,
      ended: sql<boolean>`${executions.endedAt} is not null`,
      owed: sql<boolean>`exists (${ctx.db
        .select({ one: sql`1` })
        .from(grants)
        .where(and(eq(grants.executionId, executions.id), isNull(grants.goneAt)))})`,
    })
    .from(executions)
    .where(eq(executions.id, id));
  // A deleted execution is over.
  return { status: row?.status ?? 'terminated', over: !row || (row.ended && !row.owed) };
}
