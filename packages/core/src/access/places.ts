import type { Transaction } from '@belay/db';
import type { Context, Job, Place } from '../context.js';
import { type Claim, claimThese } from './claim.js';
import { freeLostClaim } from './lost-claims.js';
import { performClaims } from './perform.js';

export type EntitlementJob = Extract<Job, { queue: 'entitlements' }>;

/** Places of this process for what one transaction will make due. Opened before the transaction: leases count from then. */
export interface Places {
  /** When the places were opened, by this process's clock. */
  openedAt: number;
  /** The id of the claim that uses them. */
  claimId: string;
  /** Reserves places for what a statement will make due; returns the ids that have a place. */
  reserve(wanted: readonly { id: string; provider: string }[], task: 'grant' | 'revoke'): ReadonlySet<string>;
  /** Records what the statement has claimed for those ids, and everything that it has made due. */
  keep(kept: readonly { reserved: string; claim: Claim }[], due: readonly EntitlementJob[]): void;
  /**
   * Claims, in the transaction that has just made entitlements due and holds their locks, those for which there is a
   * free place: this saves a commit and the way through a queue. Entitlements without a place stay due. Must be the last
   * use of the transaction, because COMMIT is sent together with the claim.
   */
  claim(tx: Transaction, due: readonly EntitlementJob[], task: 'grant' | 'revoke'): Promise<void>;
  /** Returns what was claimed. */
  claims(): readonly Claim[];
  /** Starts the calls of what was claimed, after the commit. Returns the jobs for the other entitlements. */
  begin(): Job[];
  /** Frees the places of calls that were not started, and releases what may have been claimed for them. */
  release(): void;
}

export function openPlaces(ctx: Context): Places {
  const claimingAt = ctx.clock().getTime();
  const claimId = ctx.newId();
  let places = new Map<string, Place>();
  let claims: Claim[] = [];
  let jobs: readonly EntitlementJob[] = [];
  const free = () => {
    for (const place of places.values()) place.release();
    places.clear();
  };
  const reserve: Places['reserve'] = (wanted, task) => {
    free();
    for (const { id, provider } of wanted) {
      const place = places.has(id) ? null : ctx.waker.reserve?.({ queue: 'entitlements', provider, task });
      if (place) places.set(id, place);
    }
    return new Set(places.keys());
  };
  return {
    openedAt: claimingAt,
    claimId,
    reserve,
    keep(kept, due) {
      const reserved = places;
      places = new Map();
      for (const { reserved: id, claim } of kept) {
        const place = reserved.get(id);
        reserved.delete(id);
        if (place) places.set(claim.id, place);
      }
      for (const place of reserved.values()) place.release();
      claims = kept.map(({ claim }) => claim);
      jobs = due;
    },
    async claim(tx, due, task) {
      const wanted = due.map(({ entitlementId: id, provider }) => ({ id, provider }));
      reserve(wanted, task);
      jobs = due;
      claims =
        places.size === 0 ? [] : await claimThese(ctx, tx, [...places.keys()], { claimingAt, claimId, last: true });
    },
    claims: () => claims,
    begin() {
      for (const claim of claims) {
        const place = places.get(claim.id);
        place?.run(() => performClaims(ctx, [claim], { called: () => place.vacate?.() }));
      }
      const begun = new Set(claims.map(({ id }) => id));
      claims = [];
      return jobs.filter(({ entitlementId }) => !begun.has(entitlementId));
    },
    release() {
      free();
      // The transaction failed, or the response to its commit was lost: then no other process knows of the claim.
      if (claims.length > 0) freeLostClaim(ctx, claimId);
    },
  };
}
