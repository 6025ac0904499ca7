import type { Outcome } from '@belay/workflow';
import type { EngineContext, PreparedMove } from '../ports.js';
import { readSnapshot, type Snapshot } from '../steps/snapshot.js';
import { type Decided, decideTurn } from './decide-turn.js';
import { prepare } from './prepared.js';
import { givesWay, isTaken, type Series } from './series.js';

/**
 * Decides outside any transaction how an execution moves when one of its calls has this outcome, together with
 * everything else that is ready; `writePrepared` writes the move. Returns null when the step is not open, has an
 * outcome, is claimed by another attempt, or is not reached in this turn, and while a turn of the execution is taken: then the caller
 * stores the outcome (`storeOutcome`).
 */
export async function prepareMove(
  ctx: EngineContext,
  executionId: string,
  key: string,
  outcome: Outcome | ((now: Date) => Outcome),
  { attempt, claim = false }: { attempt?: number; claim?: boolean } = {},
): Promise<PreparedMove | null> {
  if (isTaken(ctx, executionId)) return null;
  return (await prepareOutcome(ctx, executionId, { key, outcome, attempt, claim }))?.move ?? null;
}

/** Decides outside any transaction how an execution moves with what is ready; returns null when nothing is ready. */
export async function prepareTurn(ctx: EngineContext, executionId: string): Promise<PreparedMove | null> {
  const snapshot = await readSnapshot(ctx, executionId);
  const decided = snapshot && (await decideTurn(ctx, snapshot));
  return decided ? prepare(ctx, snapshot, decided) : null;
}

/** Decides the move of an execution for the outcome of one of its calls. */
export async function prepareOutcome(
  ctx: EngineContext,
  executionId: string,
  given: {
    key: string;
    outcome: Outcome | ((now: Date) => Outcome);
    attempt?: number | undefined;
    claim: boolean;
    series?: Series | undefined;
  },
): Promise<{ snapshot: Snapshot; decided: Decided; move: PreparedMove; keep: boolean } | null> {
  const snapshot = await readSnapshot(ctx, executionId, given.key);
  const step = snapshot?.steps.find(({ key }) => key === given.key);
  if (!snapshot || !step || step.outcome || (given.attempt ?? step.attempt) !== step.attempt) return null;
  if (givesWay(snapshot, given.series, false)) return null;
  const outcome = typeof given.outcome === 'function' ? given.outcome(snapshot.now) : given.outcome;
  const decided = await decideTurn(ctx, snapshot, { is: 'outcome', key: given.key, outcome });
  if (!decided) return null;
  // Null when the outcome was not applied and nothing earlier ended the step: then the outcome still has to be stored.
  if (!decided.applied && !decided.over.some(({ key }) => key === given.key)) return null;
  const keep = given.series?.mayKeep() ?? false;
  return { snapshot, decided, keep, move: prepare(ctx, snapshot, decided, { claim: given.claim, keep }) };
}
