import type { Workflow } from '../document/definition.js';
import type { Env, Outcome, StepKey } from '../types.js';
import { timeoutFault } from './run.js';
import { copyState, type State } from './state.js';
import { advanceRoot, conclude, newRun, type Transition, unchanged, WORKFLOW_TIMEOUT } from './transition.js';

/**
 * Ends an open `call` or `timer` step and runs the execution as far as it goes; the outcome of a fired timer is `{ok:
 * true, value: null}`. For a step that is no longer open nothing changes: the transition has the given state and empty
 * lists. The resolved step itself is not in `close`. Throws a `TypeError` for an `event` step (see `deliver`).
 */
export async function resolve(
  workflow: Workflow,
  state: State,
  key: StepKey,
  outcome: Outcome,
  env: Env,
): Promise<Transition> {
  const kind = Object.hasOwn(state.open, key) ? state.open[key] : undefined;
  if (kind === undefined) return unchanged(state);
  if (kind === 'event') throw new TypeError(`${key} waits for an event; deliver one`);
  const run = newRun(workflow, copyState(state), env);
  delete run.state.open[key];
  const timedOut = key === WORKFLOW_TIMEOUT;
  return await conclude(
    run,
    timedOut ? timeoutFault('/timeout') : await advanceRoot(run, { is: 'outcome', key, outcome }),
  );
}
