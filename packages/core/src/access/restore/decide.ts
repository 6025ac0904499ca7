/**
 * What people may do after a restore, as functions of facts. The model of the administrator
 * explores them exhaustively: no person alone keeps access, and none alone keeps others from being granted.
 */

/** Who acts: an operator by a command on the machine, or an administrator. */
export type Part = 'operator' | 'administrator';

/**
 * Returns what a begin does: `anew` compares every provider anew, `join` continues the restore that has begun. An administrator
 * compares anew once in 24 hours, so that beginning again and again keeps no other person from being granted.
 */
export function decideBegin(facts: { closed: boolean; begunLately: boolean }, by: Part): 'anew' | 'join' | 'reject' {
  if (by === 'operator' || !facts.begunLately) return 'anew';
  return facts.closed ? 'join' : 'reject';
}

/** The facts of a provider in the restore that has begun. */
export interface ComparisonFacts {
  compared: boolean;
  /** Whether the latest comparison failed. */
  failed: boolean;
  /** Who proposed to skip it; null when no administrator did. */
  proposal: 'own' | 'other' | null;
}

export type SkipDecision =
  | 'skip'
  | 'propose'
  | 'rejected: compared'
  | 'rejected: not failed'
  | 'rejected: own proposal';

/** Returns what a skip does: an administrator needs a comparison that failed, and the proposal of another administrator. */
export function decideSkip({ compared, failed, proposal }: ComparisonFacts, by: Part): SkipDecision {
  if (compared) return 'rejected: compared';
  if (by === 'operator') return 'skip';
  if (!failed) return 'rejected: not failed';
  if (proposal === null) return 'propose';
  return proposal === 'other' ? 'skip' : 'rejected: own proposal';
}

/** Returns what forbids to permit grants; `undecided` counts the access that was found in this restore and in earlier ones. */
export function decideOpen(facts: {
  notCompared: number;
  undecided: number;
}): 'open' | 'rejected: not compared' | 'rejected: undecided' {
  if (facts.notCompared > 0) return 'rejected: not compared';
  return facts.undecided > 0 ? 'rejected: undecided' : 'open';
}
