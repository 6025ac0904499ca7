import { ExpressionOutage } from '@belay/workflow';
import type { EngineContext, PreparedMove } from '../ports.js';
import { type Started, type Starting, startedSnapshot } from '../steps/start.js';
import { decideTurn, type Serve } from './decide-turn.js';
import { prepare } from './prepared.js';

/**
 * Decides the first turn of an execution before its start, so that one commit writes both. Returns null when the turn needs a thread
 * for an expression, or more time than a turn has, or when it does not end with one call that is opened: then a worker takes the
 * turn. The move still has the mark of a turn to remove; `requested` is when the execution starts.
 */
export async function decideFirstTurn(
  ctx: EngineContext,
  starting: Pick<Starting, 'id' | 'workflow' | 'ownerId' | 'input'>,
  started: Pick<Started, 'requested' | 'beside'>,
  serve: Serve,
): Promise<PreparedMove | null> {
  const snapshot = { ...startedSnapshot(starting, started), turn: null };
  const evaluate = () => Promise.reject(new ExpressionOutage('the request waits for no thread'));
  try {
    const decided = await decideTurn({ ...ctx, evaluate }, snapshot, undefined, serve);
    if (!decided || decided.left || decided.unread || decided.open.length !== 1) return null;
    return decided.open[0]?.kind === 'call' ? prepare(ctx, snapshot, decided) : null;
  } catch (error) {
    if (error instanceof ExpressionOutage) return null;
    throw error;
  }
}
