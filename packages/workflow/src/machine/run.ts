import type { Task, TaskKindName, Workflow } from '../document/definition.js';
import { standardFault } from '../fault.js';
import { atPointer } from '../json.js';
import type {
  Admits,
  CloudEvent,
  Env,
  Fault,
  Json,
  JsonObject,
  LifecycleEvent,
  Outcome,
  Step,
  StepKey,
} from '../types.js';
import { ownerOf } from './keys.js';
import { type Body, childrenOf, type Frame, type State } from './state.js';

/** The progress of a task. `end` is the directive that ends the whole workflow from any place. */
export type Progress =
  | { is: 'pending' }
  | { is: 'done'; value: Json; then?: string }
  | { is: 'fault'; fault: Fault }
  | { is: 'end'; value: Json };

export const PENDING: Progress = { is: 'pending' };

/** What moves a waiting execution: the outcome of a step, an event for a step, or the cancellation of the execution. */
export type Signal =
  | { is: 'outcome'; key: StepKey; outcome: Outcome }
  | { is: 'event'; key: StepKey; event: CloudEvent; admits: Admits }
  | { is: 'cancel' };

/** The variables that the enclosing loops and catches have introduced. */
export type Variables = { [name: string]: Json };

/** The behaviour of a kind of task. Of the frame, `start` and `advance` may change only the body. */
export interface TaskKind<T = Task> {
  start(run: Run, frame: Frame, task: T, variables: Variables): Promise<Progress> | Progress;
  /** Continues a waiting task. When absent, the task ends with the outcome of its own step (`settleStep`). */
  advance?(run: Run, frame: Frame, task: T, variables: Variables, signal: Signal): Promise<Progress> | Progress;
}

/** How many tasks one transition may run before it pauses; an expression that needs jq counts as ten. */
export const FUEL = 10_000;

/** A transition that is being computed: a state that may be changed, and its results so far. */
export interface Run {
  workflow: Workflow;
  state: State;
  env: Env;
  kinds: { [K in TaskKindName]: TaskKind };
  /** How much this transition may still do before it pauses. */
  fuel: number;
  /** Milliseconds that the expressions of the running task have taken. */
  spent: number;
  /** Whether a task has taken the event that is being delivered. */
  consumed: boolean;
  opened: Map<StepKey, Step>;
  closed: Set<StepKey>;
  events: LifecycleEvent[];
  emitted: CloudEvent[];
}

export function taskAt(run: Run, pointer: string): Task {
  const task = atPointer(run.workflow, pointer);
  if (task === undefined) throw new TypeError(`the definition has no task at ${pointer}`);
  return task as Task;
}

/** Returns whether a transition must pause, by its fuel or by its host. Once true, it stays true. */
export async function hasDoneEnough(run: Run): Promise<boolean> {
  // A transition that has done nothing must not pause: such transitions would follow each other without end.
  if (run.fuel === FUEL) return false;
  if (run.fuel > 0 && (await run.env.pause?.())) run.fuel = 0;
  return run.fuel <= 0;
}

export function openStep(run: Run, step: Step): void {
  run.opened.set(step.key, step);
  run.state.open[step.key] = step.kind;
}

/** Closes a step if it is open. A step that was opened in this same transition is dropped. */
export function closeStep(run: Run, key: StepKey): void {
  if (!Object.hasOwn(run.state.open, key)) return;
  delete run.state.open[key];
  if (!run.opened.delete(key)) run.closed.add(key);
}

/** Closes every open step of a task itself. */
export function closeOwnSteps(run: Run, frame: Frame): void {
  for (const key of Object.keys(run.state.open)) if (ownerOf(key) === frame.key) closeStep(run, key);
}

/** Stops all running tasks inside a task, and closes every step of theirs and of its own. */
export function closeInside(run: Run, frame: Frame): void {
  closeOwnSteps(run, frame);
  closeChildren(run, frame);
}

/** Stops the tasks inside a task, and leaves its own steps open. */
export function closeChildren(run: Run, frame: Frame): void {
  for (const child of childrenOf(frame)) {
    closeInside(run, child);
    recordTask(run, child, 'cancelled');
  }
}

/** Returns whether a task, or one inside it, owns a step. */
export function holds(frame: Frame, owner: string): boolean {
  return frame.key === owner || childrenOf(frame).some((child) => holds(child, owner));
}

export function bodyOf<K extends Body['is']>(frame: Frame, is: K): Extract<Body, { is: K }> {
  if (frame.body?.is !== is) throw new TypeError(`the state does not match the definition at ${frame.key}`);
  return frame.body as Extract<Body, { is: K }>;
}

export function timeoutFault(instance: string): Progress {
  return { is: 'fault', fault: standardFault('timeout', { instance }) };
}

const PARTICIPLES = {
  started: 'startedAt',
  completed: 'completedAt',
  faulted: 'faultedAt',
  cancelled: 'cancelledAt',
  retried: 'retriedAt',
};

/** Adds one of the DSL's task events. It contains no input, no output, and of a fault everything but its detail. */
export function recordTask(run: Run, frame: Frame, what: keyof typeof PARTICIPLES, fault?: Fault): void {
  record(run, 'task', what, { workflow: qualifiedName(run), task: frame.task }, fault);
}

/** Adds one of the DSL's workflow events. */
export function recordWorkflow(run: Run, what: 'started' | 'completed' | 'faulted' | 'cancelled', fault?: Fault): void {
  const { name, namespace, version } = run.workflow.document;
  const definition: JsonObject = what === 'started' ? { definition: { name, namespace, version } } : {};
  record(run, 'workflow', what, { name: qualifiedName(run), ...definition }, fault);
}

function record(run: Run, of: string, what: keyof typeof PARTICIPLES, data: JsonObject, fault?: Fault): void {
  const { detail: _detail, ...error } = fault ?? {};
  run.events.push({
    type: `io.serverlessworkflow.${of}.${what}.v1`,
    at: run.env.now,
    data: { ...data, [PARTICIPLES[what]]: run.env.now, ...(fault ? { error: error as JsonObject } : {}) },
  });
}

function qualifiedName(run: Run): string {
  const { name, namespace } = run.workflow.document;
  return `${name}-${run.env.executionId}.${namespace}`;
}
