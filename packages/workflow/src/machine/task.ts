import { type Task, type TaskKindName, taskSchemas } from '../document/definition.js';
import { later } from '../duration.js';
import { ExpressionError } from '../expression/error.js';
import { evaluateCondition, evaluateTransform } from '../expression/evaluate.js';
import { CANCELLED, newFault, Raised, standardFault } from '../fault.js';
import { BEYOND, isTooDeep } from '../json.js';
import type { Json } from '../types.js';
import { evaluateTimeout, exportContext, taskSight, transform, validate } from './data.js';
import {
  closeInside,
  closeOwnSteps,
  closeStep,
  hasDoneEnough,
  openStep,
  PENDING,
  type Progress,
  type Run,
  recordTask,
  type Signal,
  type TaskKind,
  taskAt,
  timeoutFault,
  type Variables,
} from './run.js';
import type { Frame } from './state.js';

const KINDS = Object.keys(taskSchemas) as TaskKindName[];

export function newFrame(run: Run, task: string, key: string, input: Json): Frame {
  return { task, key, startedAt: run.env.now, input, body: null };
}

/** Returns the transformed input of a task. */
export function inputOf(frame: Frame): Json {
  return frame.taken === undefined ? frame.input : frame.taken;
}

/**
 * Starts a task, or pauses before it when this transition has done enough (an endless loop must let other executions
 * run).
 */
export async function enterTask(run: Run, frame: Frame, variables: Variables): Promise<Progress> {
  if (await hasDoneEnough(run)) {
    frame.body = { is: 'paused' };
    openStep(run, {
      key: `${frame.key}:continue`,
      kind: 'timer',
      request: { purpose: 'continue' },
      dueAt: run.env.now,
    });
    return PENDING;
  }
  run.fuel -= 1;
  run.spent = 0;
  frame.body = null;
  const task = taskAt(run, frame.task);
  let skipped = false;
  const progress = await guard(frame, async () => {
    const before = taskSight(run, frame, variables, { input: frame.input, before: true });
    if (task.if !== undefined && !(await evaluateCondition(task.if, before))) {
      skipped = true;
      return { is: 'done', value: frame.input };
    }
    recordTask(run, frame, 'started');
    await validate(run, task.input?.schema, frame.input, 'input');
    if (task.input?.from !== undefined) frame.taken = await evaluateTransform(task.input.from, before);
    await startTimeout(run, frame, task, variables);
    return await kindOf(run, task).start(run, frame, task, variables);
  });
  return skipped ? progress : await leaveTask(run, frame, task, variables, progress);
}

/** Passes a signal to a running task: to the task itself if it waits, otherwise to the tasks inside it. */
export async function advanceTask(run: Run, frame: Frame, variables: Variables, signal: Signal): Promise<Progress> {
  const task = taskAt(run, frame.task);
  if (frame.body?.is === 'paused') {
    if (signal.is !== 'cancel') return await enterTask(run, frame, variables);
    return await leaveTask(run, frame, task, variables, cancelledAt(frame));
  }
  if (signal.is === 'outcome' && signal.key === `${frame.key}:timeout`) {
    return await leaveTask(run, frame, task, variables, timeoutFault(frame.task));
  }
  const progress = await guard(frame, async () => {
    const kind = kindOf(run, task);
    return kind.advance ? await kind.advance(run, frame, task, variables, signal) : settleStep(run, frame, signal);
  });
  // The timeout of a task that is being cancelled must not interrupt the cleanup inside it.
  if (signal.is === 'cancel' && progress.is === 'pending') closeStep(run, `${frame.key}:timeout`);
  return await leaveTask(run, frame, task, variables, progress);
}

/** Returns the fault of a cancelled task: a fault of the reserved type. */
export function cancelledAt(frame: Frame): Extract<Progress, { is: 'fault' }> {
  return { is: 'fault', fault: { type: CANCELLED, status: 499, title: 'Cancelled', instance: frame.task } };
}

/** Ends a task that waits for a single step with the outcome of that step. */
export function settleStep(run: Run, frame: Frame, signal: Signal): Progress {
  if (signal.is === 'cancel') {
    closeOwnSteps(run, frame);
    return cancelledAt(frame);
  }
  if (signal.is === 'event') throw new TypeError(`${signal.key} does not wait for an event`);
  const { outcome } = signal;
  if (outcome.ok) return { is: 'done', value: outcome.value ?? null };
  // Only the fields of RFC 7807 are kept: a fault is stored in the state, and readers of the execution see it.
  const { type, status, title, detail, instance = frame.task } = outcome.fault;
  return { is: 'fault', fault: newFault({ type, status, title, detail, instance }) };
}

async function leaveTask(run: Run, frame: Frame, task: Task, variables: Variables, given: Progress): Promise<Progress> {
  if (given.is === 'pending') return given;
  closeInside(run, frame);
  let progress: Progress = given;
  if (given.is === 'done') {
    progress = await guard(frame, async () => {
      const raw = given.value;
      const value = await transform(
        run,
        task.output,
        taskSight(run, frame, variables, { input: raw, rawOutput: raw }),
        'output',
      );
      const then = given.then ?? task.then;
      const sight = () => taskSight(run, frame, variables, { input: value, rawOutput: raw, output: value });
      if (task.export) await exportContext(run, task.export, sight());
      return { is: 'done', value, ...(then === undefined ? {} : { then }) };
    });
  }
  if (progress.is !== 'fault') recordTask(run, frame, 'completed');
  else if (progress.fault.type === CANCELLED) recordTask(run, frame, 'cancelled');
  else recordTask(run, frame, 'faulted', progress.fault);
  return progress;
}

async function startTimeout(run: Run, frame: Frame, task: Task, variables: Variables): Promise<void> {
  if (task.timeout === undefined) return;
  const after = await evaluateTimeout(run, task.timeout, taskSight(run, frame, variables));
  openStep(run, {
    key: `${frame.key}:timeout`,
    kind: 'timer',
    request: { purpose: 'timeout' },
    dueAt: later(run.env.now, after),
  });
}

function kindOf(run: Run, task: Task): TaskKind {
  const name = KINDS.find((each) => Object.hasOwn(task, each));
  if (!name) throw new TypeError('the definition has a task of an unknown kind');
  return run.kinds[name];
}

/** Converts an error in a task to its fault; an error of the host stays an exception. */
async function guard(frame: Frame, work: () => Promise<Progress>): Promise<Progress> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Raised) {
      return { is: 'fault', fault: { ...error.fault, instance: error.fault.instance ?? frame.task } };
    }
    if (error instanceof ExpressionError) {
      return { is: 'fault', fault: standardFault('expression', { detail: error.message, instance: frame.task }) };
    }
    if (isTooDeep(error)) {
      return { is: 'fault', fault: standardFault('runtime', { detail: BEYOND.depth, instance: frame.task }) };
    }
    throw error;
  }
}
