import { AccessError } from '@belay/contract/errors';
import type { Database } from '@belay/db';
import type { Catalog } from '../configuration/catalog.js';
import type { Store, UserActor } from '../context.js';

/** Whether a person's login is live, how many requests they have open, and how many they made in the last hour. */
export interface Admission {
  live: boolean;
  open: number;
  recent: number;
}

/** What one person may have open, and request in an hour. */
export type RequestLimits = Pick<Catalog['limits'], 'openRequests' | 'requestsPerHour'>;

/** Returns the admission of a person who may start another request, or throws the reason why not. */
export function requireAdmitted<A extends Admission>(admission: A | undefined, limits: RequestLimits): A {
  if (!admission?.live) throw new AccessError('unauthenticated', 'Your session has ended; sign in again');
  const { open, recent } = admission;
  if (open >= limits.openRequests) {
    throw new AccessError(
      'too_many_requests',
      `You have ${open} open requests, which is the limit of ${limits.openRequests} for one person; cancel one, give access back, or wait until one ends`,
      { retryAfter: 60 },
    );
  }
  if (recent >= limits.requestsPerHour) {
    throw new AccessError(
      'too_many_requests',
      `You made ${recent} requests in the last hour, which is the limit of ${limits.requestsPerHour} for one person; wait until the first of them is an hour old`,
      { retryAfter: 60 },
    );
  }
  return admission;
}

/** What this process knows of a person's requests. */
interface Known {
  /** Requests that are not stored yet, the earliest first: they may call providers now. */
  begun: Set<symbol>;
  /** What the commit of the latest request returned, counting that request, and when; null when the next request must be counted first. */
  counted: (Admission & { at: number }) | null;
}

const known = new WeakMap<Database, Map<string, Known>>();
/** How long a count of this process is used, in milliseconds. */
const fresh = 60_000;
const mostKnown = 10_000;

/** Counts a request before it costs calls of providers; `stored` records the count of its commit, and `end` ends it. */
export interface Counting {
  stored(admission: Admission): void;
  end(): void;
}

/**
 * Throws `too_many_requests` or `unauthenticated` for a person who may not start another request, before any provider is called.
 * The commit counts again. `read` reads the admission; it is not called while the count of an earlier request, not older than a
 * minute, shows that less than half of each limit is used: another process can then spoil only the calls of that other half.
 * The person's earlier requests that this process has not stored yet count as well, so that simultaneous requests do not pass together.
 */
export async function countFirst<A extends Admission>(
  ctx: Pick<Store, 'db' | 'clock'>,
  { id }: UserActor,
  limits: RequestLimits,
  { read, always }: { read(): Promise<A>; always: boolean },
): Promise<{ seen: A | null; counting: Counting }> {
  const people = known.get(ctx.db) ?? new Map<string, Known>();
  known.set(ctx.db, people);
  const own = people.get(id) ?? { begun: new Set(), counted: null };
  if (people.size >= mostKnown) for (const [one, { begun }] of people) if (begun.size === 0) people.delete(one);
  people.set(id, own);
  const request = Symbol();
  own.begun.add(request);
  const counting: Counting = {
    stored({ live, open, recent }) {
      own.begun.delete(request);
      own.counted = { live, open: open + 1, recent: recent + 1, at: ctx.clock().getTime() };
    },
    end() {
      // Not stored: the count of the next request is read again.
      if (own.begun.delete(request)) own.counted = null;
    },
  };
  try {
    if (!always && hasRoom(own, limits, ctx.clock().getTime())) return { seen: null, counting };
    const seen = await read();
    const before = [...own.begun].indexOf(request);
    requireAdmitted({ ...seen, open: seen.open + before, recent: seen.recent + before }, limits);
    return { seen, counting };
  } catch (error) {
    counting.end();
    throw error;
  }
}

function hasRoom({ begun, counted }: Known, limits: RequestLimits, now: number): boolean {
  if (counted === null || Math.abs(now - counted.at) >= fresh) return false;
  const { openRequests, requestsPerHour } = limits;
  return 2 * (counted.open + begun.size) <= openRequests && 2 * (counted.recent + begun.size) <= requestsPerHour;
}
