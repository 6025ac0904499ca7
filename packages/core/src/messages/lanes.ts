import type { CatalogSource, Context } from '../context.js';
import { readNow } from '../now.js';
import { type AnyClaimed, claimMessage, drawMessages, type Lane } from './draw.js';
import { urgencies } from './urgency.js';

/**
 * How many messages of each urgency one process sends at a time on one channel. Each has places of its own: what is
 * urgent waits for nothing else, and what is usual is never starved by what is urgent. Together no more than the
 * connections of the connectors for mail and webhooks, so that an alarm waits for none there either.
 */
const places = { [urgencies.usual]: 2, [urgencies.urgent]: 1, [urgencies.alarm]: 1 } as const;
/** After so many failures in a row a receiver is left alone for a time. */
const failuresInRow = 8;

/** The result of an attempt. A failed one says how long its receiver wants a pause, in milliseconds; 0 for no wish. */
export type Attempted = 'done' | { failed: number };

/** What a process knows of a lane. */
interface State {
  taken: number;
  /** Messages that were drawn and not taken yet. */
  drawn: string[];
  drawing?: Promise<boolean> | undefined;
  /** How many attempts have failed since the last one that did not. */
  failures: number;
  /** Until when its receiver is left alone, by the clock of the database. */
  restsUntil: Date | null;
}

/** What a process knows of the messages that it sends. */
interface Outbox {
  lanes: Map<string, State>;
  /** Whether it turns notices into messages at the moment. */
  telling: boolean;
}

const outboxes = new WeakMap<CatalogSource, Outbox>();

/** Returns the outbox of this process, which belongs to its source of the catalog. */
export function outboxOf({ catalog }: Pick<Context, 'catalog'>): Outbox {
  const known = outboxes.get(catalog);
  if (known) return known;
  const outbox = { lanes: new Map(), telling: false };
  outboxes.set(catalog, outbox);
  return outbox;
}

/**
 * Attempts the messages of a lane, at its free places, until none is due or `signal` aborts. Returns how many were
 * attempted. A receiver that wants a pause, or has failed several times in a row, is left alone for a time, except by alarms.
 */
export async function workLane(
  ctx: Context,
  lane: Lane,
  { attempt, signal }: { attempt(claimed: AnyClaimed): Promise<Attempted>; signal?: AbortSignal | undefined },
): Promise<number> {
  const { lanes } = outboxOf(ctx);
  const name = `${lane.urgency} ${lane.provider}`;
  const state = lanes.get(name) ?? { taken: 0, drawn: [], failures: 0, restsUntil: null };
  lanes.set(name, state);
  let attempted = 0;

  const work = async () => {
    state.taken += 1;
    try {
      for (let id = await next(); id !== undefined; id = await next()) {
        const claimed = await claimMessage(ctx, id);
        if (!claimed) continue;
        attempted += 1;
        await settle(ctx, lane, state, await attempt(claimed));
      }
    } finally {
      state.taken -= 1;
    }
  };
  const next = async () => {
    while (state.drawn.length === 0) {
      if (signal?.aborted) return undefined;
      state.drawing ??= drawMessages(ctx, lane, state.restsUntil)
        .then((ids) => {
          state.drawn = ids;
          return ids.length > 0;
        })
        .finally(() => {
          state.drawing = undefined;
        });
      if (!(await state.drawing)) return undefined;
    }
    return signal?.aborted ? undefined : state.drawn.shift();
  };

  const free = Math.max(0, places[lane.urgency] - state.taken);
  await Promise.all(Array.from({ length: free }, work));
  return attempted;
}

async function settle(ctx: Context, { urgency }: Lane, state: State, result: Attempted): Promise<void> {
  if (result === 'done') {
    state.failures = 0;
    return;
  }
  state.failures += 1;
  if (urgency === urgencies.alarm) return;
  const often = state.failures >= failuresInRow ? ctx.timing.messages.first : 0;
  const pause = Math.max(result.failed, often);
  if (pause === 0) return;
  state.restsUntil = new Date((await readNow(ctx.db)).getTime() + pause);
  state.drawn = [];
}
