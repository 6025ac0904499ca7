import type { Workflow } from '../document/definition.js';
import { later } from '../duration.js';
import { ExpressionError } from '../expression/error.js';
import { evaluateTransform } from '../expression/evaluate.js';
import { CANCELLED, Raised, standardFault } from '../fault.js';
import { BEYOND, BOUNDS, exceeds, exceedsInParts, isTooDeep } from '../json.js';
import { kinds } from '../tasks/index.js';
import type { Admits, CloudEvent, Env, Fault, Json, LifecycleEvent, Outcome, Status, Step, StepKey } from '../types.js';
import { evaluateTimeout, transform, validate, workflowSight } from './data.js';
import { advanceList, enterList, newList } from './list.js';
import {
  closeInside,
  closeStep,
  FUEL,
  openStep,
  PENDING,
  type Progress,
  type Run,
  recordTask,
  recordWorkflow,
  type Signal,
  timeoutFault,
} from './run.js';
import { copyState, type State } from './state.js';

const WORKFLOW_TIMEOUT = '/timeout#0';

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

/**
 * Starts an execution and runs it as far as it goes without waiting. An invalid input is a fault of the execution;
 * call `validateInput` before to reject it instead. Throws `ExpressionOutage` when an expression or a schema cannot be
 * evaluated now, and otherwise only what the functions of `env` throw.
 */
export async function begin(workflow: Workflow, input: Json, env: Env): Promise<Transition> {
  const state: State = {
    v: 1,
    status: 'running',
    startedAt: env.startedAt ?? env.now,
    input,
    context: null,
    open: {},
    root: newList('/do', '/do', ''),
  };
  const run = newRun(workflow, state, env);
  recordWorkflow(run, 'started');
  const progress = await guardWorkflow<Progress>('/input', async () => {
    await validate(run, workflow.input?.schema, input, 'input');
    const from = workflow.input?.from;
    const value = from === undefined ? input : await evaluateTransform(from, workflowSight(run, input, false));
    // In the DSL's data flow the transformed input is the first content of `$context`.
    state.context = value;
    if (workflow.timeout !== undefined) {
      const after = await evaluateTimeout(run, workflow.timeout, workflowSight(run, value, true));
      const dueAt = later(env.now, after);
      openStep(run, { key: WORKFLOW_TIMEOUT, kind: 'timer', request: { purpose: 'timeout' }, dueAt });
    }
    return state.root ? await enterList(run, state.root, value, {}) : { is: 'done', value };
  });
  return await conclude(run, progress);
}

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

/**
 * Delivers an event to every open `event` step that it matches; returns null when it matches no step, and then nothing
 * has changed. `admits` decides, by the metadata of their tasks, which steps may get it. A step that has all its events
 * is in `close`, like any other step that ends; a step that waits for more events stays open.
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

/**
 * Cancels an execution (docs/architecture.md, section 5): raises the reserved fault at every task that waits. A task
 * that catches it by its type cleans up undisturbed, and then the execution ends `cancelled`, regardless of the
 * result. An execution that has ended, or is already being cancelled, does not change.
 */
export async function interrupt(workflow: Workflow, state: State, env: Env): Promise<Transition> {
  if (isOver(state) || state.cancelling) return unchanged(state);
  const run = newRun(workflow, copyState(state), env);
  run.state.cancelling = true;
  closeStep(run, WORKFLOW_TIMEOUT);
  return await conclude(run, await advanceRoot(run, { is: 'cancel' }));
}

function newRun(workflow: Workflow, state: State, env: Env): Run {
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
function unchanged(state: State): Transition {
  return { status: state.status, state, open: [], close: [], events: [], emitted: [] };
}

function isOver(state: State): boolean {
  return state.root === null;
}

/** Passes a signal to the task that waits for it. */
async function advanceRoot(run: Run, signal: Signal): Promise<Progress> {
  const { root } = run.state;
  if (!root) throw new TypeError('the execution has ended');
  return await advanceList(run, root, {}, signal);
}

/** Builds the transition from the result of a run: the end of the execution, or what it waits for now. */
async function conclude(run: Run, progress: Progress): Promise<Transition> {
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
  const end = await guardWorkflow<End>('/output', async () => ({
    is: 'done',
    value: await transform(run, run.workflow.output, workflowSight(run, value, true), 'output'),
  }));
  const excess =
    end.is === 'done' && end.value !== value && (await exceedsInParts(end.value, BOUNDS, () => run.env.pause?.()));
  if (!excess) return end;
  return { is: 'fault', fault: standardFault('runtime', { detail: BEYOND[excess], instance: '/output' }) };
}

/** Converts an error in the workflow's own input or output to its fault. */
async function guardWorkflow<T>(instance: string, work: () => Promise<T>): Promise<T | { is: 'fault'; fault: Fault }> {
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
