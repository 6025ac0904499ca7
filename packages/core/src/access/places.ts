import { isOutage } from '@belay/contract/outage';
import type { Context, Job, Place } from '../context.js';
import type { Claim } from './claim.js';
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
  /** Runs what may claim for the reserved places. When its response is lost, releases what may have been claimed. */
  claiming<T>(work: () => Promise<T>): Promise<T>;
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
    async claiming(work) {
      try {
        return await work();
      } catch (error) {
        // The claim may have been committed, and only this process knows its id.
        if (places.size > 0 && isOutage(error)) freeLostClaim(ctx, claimId);
        throw error;
      }
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
