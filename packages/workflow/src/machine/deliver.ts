import type { Workflow } from '../document/definition.js';
import type { Admits, CloudEvent, Env } from '../types.js';
import { PENDING, type Progress } from './run.js';
import { copyState, type State } from './state.js';
import { advanceRoot, conclude, newRun, type Transition } from './transition.js';

/**
 * Gives an event to every `event` step that is open and wants it; null when none does, and then nothing has changed.
 * `admits` says which of them may have it, by the metadata of their tasks. A step that has had enough is in `close`, like any other that ends; one that wants more stays open.
 */
export async function deliver(
  workflow: Workflow,
  state: State,
  event: CloudEvent,
  env: Env,
  admits: Admits = () => true,
): Promise<Transition | null> {
  // Only what listened before the event came gets it: a task that this event starts waits for the next one.
  const listening = Object.keys(state.open).filter((key) => state.open[key] === 'event');
  if (listening.length === 0) return null;
  const run = newRun(workflow, copyState(state), env);
  let progress: Progress = PENDING;
  for (const key of listening) {
    if (progress.is === 'pending' && Object.hasOwn(run.state.open, key)) {
      progress = await advanceRoot(run, { is: 'event', key, event, admits });
    }
  }
  return run.consumed ? await conclude(run, progress) : null;
}
