import type { EntitlementState } from '@belay/db';
import type { Held as Answered } from '@belay/providers';

/** The facts of the decisions below. Times are milliseconds of any monotonic clock. */
export interface EntitlementFacts {
  state: EntitlementState;
  /** When the latest grant call was claimed; null when there was none since the entitlement was absent. */
  lastGrantCallAt: number | null;
  /** How many grant calls were claimed since, and not recorded as held by their own record: each may still land. */
  openCalls: number;
}

/** What an intent is decided by, as it is under the lock of the entitlement. */
export interface IntentFacts extends Pick<EntitlementFacts, 'state'> {
  /** Whether each grant of it was read as gone. */
  gone: boolean;
}

/** What a read of the provider returned, when it settles the question: see `settles`. */
export type Held = Exclude<Answered, 'changing'>;

/**
 * Returns whether what was read settles a question (R4, R6). `changing` never does, because the operation can end
 * either way. `unknown` does only for a connector that can never know. Otherwise the provider is read again, and until
 * then the access counts as neither observed, held nor gone.
 */
export function settles(held: Answered, knows: boolean): held is Held {
  return held !== 'changing' && (held !== 'unknown' || !knows);
}

export type ClaimDecision =
  | { do: 'nothing' }
  /** Call ensurePresent. The claim is recorded first: from here on a revocation is owed (R4). */
  | { do: 'grant' }
  /** No call is needed; check again when the first live grant expires. */
  | { do: 'rest' }
  /** Call ensureAbsent. */
  | { do: 'revoke' };

/** Returns what a claimed entitlement needs now. `wanted` is computed from the grants at this moment (R3). */
export function decideClaim(entitlement: Pick<EntitlementFacts, 'state'>, wanted: boolean): ClaimDecision {
  if (entitlement.state === 'absent') return { do: 'nothing' };
  if (!wanted) return { do: 'revoke' };
  return entitlement.state === 'granted' ? { do: 'rest' } : { do: 'grant' };
}

/**
 * Returns the state after an intent, or a rejection: access that is absent here and held at the provider is not ours
 * to manage (R2), and neither is access that is held although each grant of it was read as gone, while its quarantine
 * goes on. `held` settles the question: see `settles`.
 */
export function decideIntent({ state, gone }: IntentFacts, held: Held): 'granting' | 'refuse' {
  if ((state === 'absent' || gone) && held === true) return 'refuse';
  // A granted entitlement is ensured again: the provider may need a later end, and it is read back (R6).
  return 'granting';
}

/** `again`: the clocks start, and the same call is made once more, because what was read back may be outdated. */
export type GrantedDecision = 'granted' | 'again';

/**
 * Returns what a grant call that returned comes to. Only what was read back counts (R6). Both decisions start the clocks
 * of the grants that wait: a holder who changes the row during every call cannot delay that (docs/architecture.md,
 * section 6). Returns null, which changes nothing, when the provider does not hold the access, or when another process
 * has changed the state of the row. `changed`: the entitlement was made due during the call, or a grant needs a later end
 * than the provider has.
 */
export function decideGranted(
  entitlement: Pick<EntitlementFacts, 'state'>,
  call: { held: Held; changed: boolean },
): GrantedDecision | null {
  if (entitlement.state !== 'granting' || call.held === false) return null;
  return call.changed ? 'again' : 'granted';
}

export type RevokedDecision =
  | { state: 'absent' }
  /** Gone for now; a call that is still running could take effect, so another revoke is owed at `notBefore`. */
  | { state: 'revoking'; notBefore: number }
  /** The entitlement was made due during the call: what was read back may be outdated, and the revoke is repeated. */
  | { state: 'again' }
  /** The entitlement is wanted again: the call may have revoked the access, so it is granted again. */
  | { state: 'granting' };

/**
 * Returns the state after a revoke call that succeeded and was read back; null for a row that is already absent. R5:
 * `absent` only when the call *started* more than the quarantine after the last grant call was claimed; `>=` leaks at
 * the boundary (docs/architecture.md, section 6). Without quarantine when no grant call is open, at a connector whose calls
 * have landed when they return (`neverLate`).
 */
export function decideRevoked(
  entitlement: EntitlementFacts,
  call: { startedAt: number; wanted: boolean; disturbed: boolean; quarantine: number; neverLate: boolean },
): RevokedDecision | null {
  if (entitlement.state === 'absent') return null;
  if (call.wanted || entitlement.state !== 'revoking') return { state: 'granting' };
  if (call.disturbed) return { state: 'again' };
  if (entitlement.lastGrantCallAt === null || (call.neverLate && entitlement.openCalls === 0))
    return { state: 'absent' };
  const quiet = entitlement.lastGrantCallAt + call.quarantine;
  return call.startedAt > quiet ? { state: 'absent' } : { state: 'revoking', notBefore: quiet + 1 };
}

/**
 * Returns the state after a call whose fence was lost; null when it changes nothing. The call may have taken effect
 * after everything that was recorded meanwhile: granted access is ensured and read back again, and access that a late
 * grant call may have brought back is revoked again. In every other state the next call is due anyway, and is made due
 * now.
 */
export function decideLate(state: EntitlementState, task: 'grant' | 'revoke'): EntitlementState | null {
  if (state === 'absent') return task === 'grant' ? 'revoking' : null;
  return state === 'granted' ? 'granting' : state;
}

/** Returns whether the provider was seen to do what it was called for; otherwise the call has failed (R6). */
export function isConfirmed(task: 'grant' | 'revoke', held: Held): boolean {
  return held !== (task === 'revoke');
}
