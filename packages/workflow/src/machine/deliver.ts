import type { Workflow } from '../document/definition.js';
import type { Admits, CloudEvent, Env } from '../types.js';
import { PENDING, type Progress } from './run.js';
import { copyState, type State } from './state.js';
import { advanceRoot, conclude, newRun, type Transition } from './transition.js';

/**
 * Delivers an event to every open `event` step that wants it; returns null when no step does, and then nothing has
 * changed. `admits` decides, by the metadata of their tasks, which steps may have it. A step that has all its events
 * is in `close`, like any other that ends; one that wants more stays open.
 */
export async function deliver(
  workflow: Workflow,
  state: State,
  event: CloudEvent,
  env: Env,
  admits: Admits = () => true,
): Promise<Transition | null> {
  // Only tasks that listened before the event get it: a task that this event starts waits for the next one.
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
