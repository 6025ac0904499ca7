import type { Workflow } from '../document/definition.js';
import { ExpressionError } from '../expression/error.js';
import { CANCELLED, Raised, standardFault } from '../fault.js';
import { BEYOND, BOUNDS, exceeds, exceedsInParts, isTooDeep } from '../json.js';
import { kinds } from '../tasks/index.js';
import type { CloudEvent, Env, Fault, Json, LifecycleEvent, Status, Step, StepKey } from '../types.js';
import { transform, workflowSight } from './data.js';
import { advanceList } from './list.js';
import {
  closeInside,
  closeStep,
  FUEL,
  type Progress,
  type Run,
  recordTask,
  recordWorkflow,
  type Signal,
} from './run.js';
import type { State } from './state.js';

export const WORKFLOW_TIMEOUT = '/timeout#0';

/** The result of a transition: the state to store, the steps to open and to close, and the events to publish. */
export interface Transition {
  status: Status;
  state: State;
  open: Step[];
  close: StepKey[];
  events: LifecycleEvent[];
  emitted: CloudEvent[];
  /** Only when the status is `completed`. */
  output?: Json;
  /** Only when the status is `faulted` or `cancelled`. */
  fault?: Fault;
}

export function newRun(workflow: Workflow, state: State, env: Env): Run {
  return {
    workflow,
    state,
    env,
    kinds,
    fuel: FUEL,
    spent: 0,
    consumed: false,
    opened: new Map(),
    closed: new Set(),
    events: [],
    emitted: [],
  };
}

/** Returns the transition in which nothing happens. */
export function unchanged(state: State): Transition {
  return { status: state.status, state, open: [], close: [], events: [], emitted: [] };
}

export function isOver(state: State): boolean {
  return state.root === null;
}

/** Passes a signal to the task that waits for it. */
export async function advanceRoot(run: Run, signal: Signal): Promise<Progress> {
  const { root } = run.state;
  if (!root) throw new TypeError('the execution has ended');
  return await advanceList(run, root, {}, signal);
}

/** Builds the transition from the result of a run: the end of the execution, or what it waits for now. */
export async function conclude(run: Run, progress: Progress): Promise<Transition> {
  const given = await withinBounds(run, progress);
  if (given.is === 'pending') {
    const calls = Object.values(run.state.open).includes('call');
    run.state.status = calls ? 'running' : 'waiting';
    return transitionOf(run);
  }
  const current = run.state.root?.current;
  if (current) {
    closeInside(run, current);
    recordTask(run, current, 'cancelled');
  }
  closeStep(run, WORKFLOW_TIMEOUT);
  run.state.root = null;
  const end = run.state.cancelling ? cancelled(given) : await finish(run, given);
  if (end.is === 'fault') {
    run.state.status = run.state.cancelling ? 'cancelled' : 'faulted';
    if (run.state.cancelling) recordWorkflow(run, 'cancelled');
    else recordWorkflow(run, 'faulted', end.fault);
    return { ...transitionOf(run), fault: end.fault };
  }
  run.state.status = 'completed';
  recordWorkflow(run, 'completed');
  return { ...transitionOf(run), output: end.value };
}

/**
 * A loop can double its data with every iteration, and data from outside can contain characters that no database
 * stores. An execution with such data is ended here, while it can still be stored.
 */
async function withinBounds(run: Run, progress: Progress): Promise<Progress> {
  const output = 'value' in progress ? progress.value : null;
  const requests = [...run.opened.values()].map((step) => step.request);
  const kept = [run.state as unknown as Json, output, requests, run.emitted as unknown as Json];
  const excess = await exceedsInParts(kept, BOUNDS, () => run.env.pause?.());
  if (!excess) return progress;
  if (exceeds(run.state.input, BOUNDS)) run.state.input = null;
  run.state.context = null;
  run.emitted = [];
  return { is: 'fault', fault: standardFault('runtime', { detail: BEYOND[excess], instance: '/do' }) };
}

type End = { is: 'fault'; fault: Fault } | { is: 'done'; value: Json };

/** A cancelled execution stays cancelled, regardless of the result of its cleanup. */
function cancelled(progress: Progress): End {
  if (progress.is === 'fault' && progress.fault.type === CANCELLED) return progress;
  return { is: 'fault', fault: { type: CANCELLED, status: 499, title: 'Cancelled' } };
}

async function finish(run: Run, progress: Exclude<Progress, { is: 'pending' }>): Promise<End> {
  if (progress.is === 'fault') return progress;
  const { value } = progress;
  return await guardWorkflow('/output', async () => ({
    is: 'done',
    value: await transform(run, run.workflow.output, workflowSight(run, value, true), 'output'),
  }));
}

/** Converts an error in the workflow's own input or output to its fault. */
export async function guardWorkflow<T>(
  instance: string,
  work: () => Promise<T>,
): Promise<T | { is: 'fault'; fault: Fault }> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Raised) return { is: 'fault', fault: { ...error.fault, instance } };
    if (error instanceof ExpressionError) {
      return { is: 'fault', fault: standardFault('expression', { detail: error.message, instance }) };
    }
    if (isTooDeep(error)) return { is: 'fault', fault: standardFault('runtime', { detail: BEYOND.depth, instance }) };
    throw error;
  }
}

function transitionOf(run: Run): Transition {
  return {
    status: run.state.status,
    state: run.state,
    open: [...run.opened.values()],
    close: [...run.closed],
    events: run.events,
    emitted: run.emitted,
  };
}
