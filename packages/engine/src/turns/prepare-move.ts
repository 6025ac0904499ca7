import type { Outcome } from '@belay/workflow';
import type { EngineContext, PreparedMove } from '../ports.js';
import { readSnapshot, type Snapshot } from '../steps/snapshot.js';
import { decideTurn } from './decide-turn.js';
import { prepare } from './prepared.js';

/**
 * Decides outside any transaction what becomes of an execution when a call of it comes out so, with everything else that is
 * ready before it; `writePrepared` writes it. Null when the step is not open, is claimed by another attempt, or its turn does
 * not come yet: then `storeOutcome` keeps it.
 */
export async function prepareMove(
  ctx: EngineContext,
  executionId: string,
  key: string,
  outcome: Outcome | ((now: Date) => Outcome),
  { attempt, claim = false }: { attempt?: number; claim?: boolean } = {},
): Promise<PreparedMove | null> {
  return (await prepareOutcome(ctx, executionId, { key, outcome, attempt, claim }))?.move ?? null;
}

/** Decides outside any transaction what becomes of an execution by what is ready; null when nothing is. */
export async function prepareTurn(ctx: EngineContext, executionId: string): Promise<PreparedMove | null> {
  const snapshot = await readSnapshot(ctx, executionId);
  const decided = snapshot && (await decideTurn(ctx, snapshot));
  return decided ? prepare(ctx, snapshot, decided) : null;
}

/** A move with an outcome, and what it was decided on. */
export async function prepareOutcome(
  ctx: EngineContext,
  executionId: string,
  given: {
    key: string;
    outcome: Outcome | ((now: Date) => Outcome);
    attempt?: number | undefined;
    claim: boolean;
  },
): Promise<{ snapshot: Snapshot; move: PreparedMove } | null> {
  const snapshot = await readSnapshot(ctx, executionId, given.key);
  const step = snapshot?.steps.find(({ key }) => key === given.key);
  if (!snapshot || !step || step.outcome || (given.attempt ?? step.attempt) !== step.attempt) return null;
  const outcome = typeof given.outcome === 'function' ? given.outcome(snapshot.now) : given.outcome;
  const decided = await decideTurn(ctx, snapshot, { is: 'outcome', key: given.key, outcome });
  if (!decided) return null;
  // Something before it ended the step, or it has its turn: either way nothing of it is left to be kept.
  if (!decided.applied && !decided.over.some(({ key }) => key === given.key)) return null;
  return { snapshot, move: prepare(ctx, snapshot, decided, { claim: given.claim }) };
}
