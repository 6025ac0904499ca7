import type { Workflow } from '../document/definition.js';
import type { Env } from '../types.js';
import { closeStep } from './run.js';
import { copyState, type State } from './state.js';
import { advanceRoot, conclude, isOver, newRun, type Transition, unchanged, WORKFLOW_TIMEOUT } from './transition.js';

/**
 * Cancels an execution (docs/architecture.md, section 5): raises the reserved fault at every task that waits. A task
 * that catches it by its name cleans up undisturbed, and then the execution ends `cancelled`, regardless of the
 * result. An execution that has ended, or is already being cancelled, does not change.
 */
export async function interrupt(workflow: Workflow, state: State, env: Env): Promise<Transition> {
  if (isOver(state) || state.cancelling) return unchanged(state);
  const run = newRun(workflow, copyState(state), env);
  run.state.cancelling = true;
  closeStep(run, WORKFLOW_TIMEOUT);
  return await conclude(run, await advanceRoot(run, { is: 'cancel' }));
}
