import type { EntitlementState } from '@belay/db';
import type { Held as Answered } from '@belay/providers';

/** What the decisions below are made from. Times are milliseconds; any clock that does not run backwards will do. */
export interface EntitlementFacts {
  state: EntitlementState;
  /** When the latest grant call was claimed, or null when there was none since it was absent. */
  lastGrantCallAt: number | null;
}

/** What a provider was read to hold, where that settles something. */
export type Held = Exclude<Answered, 'changing'>;

/**
 * Whether what was read settles a question (R4, R6). `changing` never does: the operation can end either way. `unknown` does only
 * for a connector that can never know. Else the provider is asked again, and until then nothing was observed, nothing is held
 * and nothing is gone.
 */
export function settles(held: Answered, knows: boolean): held is Held {
  return held !== 'changing' && (held !== 'unknown' || !knows);
}

export type ClaimDecision =
  | { do: 'nothing' }
  /** Call ensurePresent. The claim is recorded first: from here on a revocation is owed (R4). */
  | { do: 'grant' }
  /** It is as it should be; look again when the first live grant expires. */
  | { do: 'rest' }
  /** Call ensureAbsent. */
  | { do: 'revoke' };

/** What a claimed entitlement needs now. `wanted` is computed from the grants at this moment (R3). */
export function decideClaim(entitlement: EntitlementFacts, wanted: boolean): ClaimDecision {
  if (entitlement.state === 'absent') return { do: 'nothing' };
  if (!wanted) return { do: 'revoke' };
  return entitlement.state === 'granted' ? { do: 'rest' } : { do: 'grant' };
}

/**
 * The state that an intent leaves behind, or a refusal: what is absent with us and held there is not ours to manage (R2).
 * `held` settles the question: see `settles`.
 */
export function decideIntent(entitlement: EntitlementFacts, held: Held): 'granting' | 'refuse' {
  if (entitlement.state === 'absent' && held === true) return 'refuse';
  // An entitlement that is granted is ensured again: the provider may have to hear of a later end, and is read back (R6).
  return 'granting';
}

/**
 * What a grant call that returned leads to. Only what was read back counts (R6), and only while it is still expected:
 * null changes nothing, because somebody has moved on.
 */
export function decideGranted(entitlement: EntitlementFacts, held: Held): 'granted' | null {
  return entitlement.state === 'granting' && held !== false ? 'granted' : null;
}

export type RevokedDecision =
  | { state: 'absent' }
  /** Gone for now; a call that was still on its way could land, so another revoke is owed after `notBefore`. */
  | { state: 'revoking'; notBefore: number }
  /** It was made due while the call was under way: what was read back may be old, and the revoke is repeated at once. */
  | { state: 'again' }
  /** Somebody wants it again: the call may have taken away what is now due, so it is granted anew. */
  | { state: 'granting' };

/**
 * What a revoke call that worked, and was read back, leads to. R5: `absent` only when the call *started* more than the
 * quarantine after the last grant call was claimed; `>=` leaks at the boundary (docs/architecture.md, section 6).
 */
export function decideRevoked(
  entitlement: EntitlementFacts,
  call: { startedAt: number; wanted: boolean; disturbed: boolean; quarantine: number },
): RevokedDecision | null {
  if (entitlement.state === 'absent') return null;
  if (call.wanted || entitlement.state !== 'revoking') return { state: 'granting' };
  if (call.disturbed) return { state: 'again' };
  if (entitlement.lastGrantCallAt === null) return { state: 'absent' };
  const quiet = entitlement.lastGrantCallAt + call.quarantine;
  return call.startedAt > quiet ? { state: 'absent' } : { state: 'revoking', notBefore: quiet + 1 };
}

/**
 * The state after a call came back whose fence was lost; null when it changes nothing. It may have landed after everything
 * that was recorded meanwhile: what is granted is ensured and read back again, and what a grant call may have brought back after
 * it was settled is revoked again. In every other state the next call is due anyway, and is due now.
 */
export function decideLate(state: EntitlementState, task: 'grant' | 'revoke'): EntitlementState | null {
  if (state === 'absent') return task === 'grant' ? 'revoking' : null;
  return state === 'granted' ? 'granting' : state;
}

/** Whether a call came out as it was claimed, on a row that is as the claim left it: the record needs no second look. */
export function isAsClaimed(task: 'grant' | 'revoke', held: Held): boolean {
  if (task === 'revoke') return held !== true;
  return decideGranted({ state: 'granting', lastGrantCallAt: null }, held) === 'granted';
}
