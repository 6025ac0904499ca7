import type { Transaction } from '@belay/db';
import type { Context, Hint, Place } from '../context.js';
import { type Claim, claimThese } from './claim.js';
import { performClaims } from './perform.js';

export type EntitlementHint = Extract<Hint, { queue: 'entitlements' }>;

/** Places of this process for what one transaction is about to make due. Opened before it, because leases count from then. */
export interface Places {
  /**
   * Claims, in the transaction that has just made entitlements due and holds their locks, those for which there is a free place:
   * a commit less, and no way through a queue. What finds no place stays due.
   */
  claim(tx: Transaction, due: readonly EntitlementHint[], task: 'grant' | 'revoke'): Promise<void>;
  /** What was claimed. */
  claims(): readonly Claim[];
  /** After the commit: begins the calls of what was claimed. Returns the hints of what was not. */
  begin(): Hint[];
  /** Frees what was not begun. */
  release(): void;
}

export function openPlaces(ctx: Context): Places {
  const claimingAt = ctx.clock().getTime();
  const places = new Map<string, Place>();
  let claims: Claim[] = [];
  let hints: readonly EntitlementHint[] = [];
  const release = () => {
    for (const place of places.values()) place.release();
    places.clear();
  };
  return {
    async claim(tx, due, task) {
      release();
      hints = due;
      for (const { entitlementId, provider } of due) {
        const place = places.has(entitlementId) ? null : ctx.waker.reserve?.({ queue: 'entitlements', provider, task });
        if (place) places.set(entitlementId, place);
      }
      claims = places.size === 0 ? [] : await claimThese(ctx, tx, [...places.keys()], claimingAt);
    },
    claims: () => claims,
    begin() {
      for (const claim of claims) places.get(claim.id)?.run(() => performClaims(ctx, [claim]));
      const begun = new Set(claims.map(({ id }) => id));
      return hints.filter(({ entitlementId }) => !begun.has(entitlementId));
    },
    release,
  };
}
