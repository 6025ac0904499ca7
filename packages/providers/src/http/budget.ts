import { Retryable } from '../errors.js';
import { HttpFault } from './answer.js';
import { isUrgent } from './urgency.js';

/** What a provider states of a limit in a response. */
export interface StatedLimit {
  /** The calls between two restarts. */
  limit: number;
  /** The calls that are left until the next restart, for all processes. */
  left: number;
  /** The time until the next restart, in milliseconds. */
  restartsIn: number;
}

/** A pause of calls at a provider: of all calls of a family, or of all except revocations and the reads that verify them. */
export interface Pause {
  family: string;
  scope: 'all' | 'ordinary';
  milliseconds: number;
}

export interface BudgetOptions {
  /** Returns the time in milliseconds. */
  now(): number;
  /** The part of each limit that only revocations use, between 0 and 1; a fifth unless set. */
  reserved?: number;
  /** Tells the other processes of a pause. Does not throw. */
  tell?(pause: Pause): void;
  /**
   * Takes calls from a limit that the configuration sets, and that all processes share. Returns how many it has taken, and when it
   * has taken none, the time until there is one, in milliseconds. Absent without such a limit.
   */
  lease?(urgent: boolean): Promise<{ taken: number; wait: number }>;
}

/** The calls that one provider still accepts, for all clients of this process at that provider. */
export interface Budget {
  /**
   * Begins a call, and returns the function that ends it. Throws `Retryable` with the time to wait during a pause, and for a call that
   * would use the part that is reserved for revocations. Only calls within `urgently` use that part.
   */
  begin(family: string, service: string): Promise<() => void>;
  /** Records what a response says: the pause that it demands, in milliseconds, and the limit that it states. */
  told(family: string, said: { wait?: number | undefined; limit?: StatedLimit | undefined }): void;
  /** Records pauses that other processes were told. */
  heard(pauses: readonly Pause[]): void;
}

/** The longest pause in milliseconds, even when a provider demands more. Limits restart after an hour at most. */
const longestPause = 60 * 60_000;
/** A pause is told again only when it ends this much later, in milliseconds: the clock of a provider counts in seconds. */
const sameEnd = 2_000;
/** How long a call waits for the responses of others, in milliseconds. */
const soon = 1_000;
/** How long calls that were taken from the configured limit may be used, in milliseconds. */
const leaseTime = 60_000;
/** The longest time in milliseconds before a process asks again for calls of the configured limit. */
const askAgain = 5_000;

/** What is known of the calls of one family. They share a limit of the provider. */
interface Family {
  /** When pauses end, by the process's own clock. */
  until: Record<Pause['scope'], number>;
  stated: { limit: number; left: number; restartsAt: number } | undefined;
  /** Calls without a response. The provider may not have counted them yet. */
  begun: number;
}

/** Creates the budget of one provider. */
export function createBudget({ now, reserved = 0.2, tell = () => {}, lease }: BudgetOptions): Budget {
  const families = new Map<string, Family>();
  const shares = lease && createShares(now, lease);

  function of(name: string): Family {
    const known = families.get(name) ?? { until: { all: 0, ordinary: 0 }, stated: undefined, begun: 0 };
    families.set(name, known);
    return known;
  }

  /** Returns the end of a pause; 0 when it is further away than a pause can be, because the clock was set back since. */
  function standing(end: number): number {
    return end - now() > longestPause ? 0 : end;
  }

  function pause(name: string, scope: Pause['scope'], wait: number): void {
    const milliseconds = Math.min(wait, longestPause);
    const { until } = of(name);
    const end = now() + milliseconds;
    const before = standing(until[scope]);
    const isLater = end > before + sameEnd;
    until[scope] = Math.max(before, end);
    if (isLater && milliseconds > 0) tell({ family: name, scope, milliseconds });
  }

  /** Returns how long a call has to wait, in milliseconds. */
  function waitOf(name: string, urgent: boolean): number {
    const { until, stated, begun } = of(name);
    const paused = Math.max(standing(until.all), urgent ? 0 : standing(until.ordinary)) - now();
    if (paused > 0 || urgent || !stated || stated.restartsAt <= now()) return paused;
    // Only calls without a response use up the rest: it shows soon what they have left.
    return stated.left - begun > reserveOf(stated.limit) ? 0 : soon;
  }

  function reserveOf(limit: number): number {
    return Math.ceil(limit * reserved);
  }

  return {
    async begin(name, service) {
      const urgent = isUrgent();
      const family = of(name);
      refuse(waitOf(name, urgent), service);
      family.begun += 1;
      const end = () => {
        family.begun -= 1;
      };
      if (!shares) return end;
      try {
        refuse(await shares.take(urgent), service);
        return end;
      } catch (error) {
        end();
        throw error;
      }
    },

    told(name, { wait, limit: said }) {
      const family = of(name);
      if (said) {
        const { limit, left, restartsIn } = said;
        const restartsAt = now() + restartsIn;
        const earlier = family.stated;
        // Responses may arrive in another order than they were made.
        const isSame = earlier !== undefined && Math.abs(earlier.restartsAt - restartsAt) < sameEnd;
        family.stated = { limit, left: isSame ? Math.min(earlier.left, left) : left, restartsAt };
        if (left <= reserveOf(limit)) pause(name, 'ordinary', restartsIn);
        if (left <= 0) pause(name, 'all', restartsIn);
      }
      if (wait !== undefined) pause(name, 'all', wait);
    },

    heard(pauses) {
      for (const { family, scope, milliseconds } of pauses) {
        const { until } = of(family);
        until[scope] = Math.max(standing(until[scope]), now() + Math.min(milliseconds, longestPause));
      }
    },
  };
}

/** Throws `Retryable` for a call that has to wait. */
function refuse(wait: number, service: string): void {
  if (wait <= 0) return;
  const cause = new HttpFault('not sent: the calls that the provider accepts now are used up or reserved', {
    method: '',
    path: '',
  });
  throw new Retryable(`${service} is handling too many requests`, { afterMilliseconds: wait, cause });
}

/** Creates this process's share of a configured limit. It is taken in blocks, so that few calls wait for the database. */
function createShares(now: () => number, lease: NonNullable<BudgetOptions['lease']>) {
  // What was taken for revocations comes from the reserve, so no other call uses it.
  const held = { ordinary: { left: 0, until: 0 }, urgent: { left: 0, until: 0 } };
  /** Until when nothing is left. */
  const empty = { ordinary: 0, urgent: 0 };
  const filling = new Set<Promise<void>>();

  function takeHeld(kind: keyof typeof held): boolean {
    const share = held[kind];
    if (share.left <= 0 || share.until <= now()) return false;
    share.left -= 1;
    return true;
  }

  async function fill(kind: keyof typeof held): Promise<void> {
    const { taken, wait } = await lease(kind === 'urgent');
    if (taken > 0) held[kind] = { left: taken, until: now() + leaseTime };
    else empty[kind] = now() + Math.min(wait, askAgain);
  }

  return {
    /** Takes one call, and returns how long the caller has to wait for it, in milliseconds: 0 when it was taken. */
    async take(urgent: boolean): Promise<number> {
      const kind = urgent ? 'urgent' : 'ordinary';
      for (;;) {
        if (takeHeld('ordinary') || (urgent && takeHeld('urgent'))) return 0;
        const wait = empty[kind] - now();
        if (wait > 0) return wait;
        const [other] = filling;
        const own = other ?? fill(kind);
        filling.add(own);
        try {
          await own;
        } catch (error) {
          // A revocation does not wait for the database: the provider itself limits its calls.
          if (urgent) return 0;
          throw error;
        } finally {
          filling.delete(own);
        }
      }
    },
  };
}
