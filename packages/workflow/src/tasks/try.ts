import type { TaskOf } from '../document/definition.js';
import { later } from '../duration.js';
import { CANCELLED, standardFault } from '../fault.js';
import { evaluateDuration, taskSight } from '../machine/data.js';
import { pathOf, pointerOf } from '../machine/keys.js';
import { advanceList, enterList, newList } from '../machine/list.js';
import {
  bodyOf,
  closeChildren,
  closeStep,
  openStep,
  PENDING,
  type Progress,
  type Run,
  recordTask,
  type TaskKind,
  type Variables,
} from '../machine/run.js';
import type { Frame } from '../machine/state.js';
import { cancelledAt, inputOf } from '../machine/task.js';
import type { Fault, Json } from '../types.js';
import { catches, retryDelay, retryPolicy } from './retry.js';

type TryTask = TaskOf<'try'>;

/**
 * Runs tasks whose fault can be caught, retried and handled. A cancellation is caught only by a filter that names its
 * type. The handler is then a cleanup: it is not interrupted, and after it the cancellation continues, regardless of
 * the result of the cleanup.
 */
export const tryTask: TaskKind<TryTask> = {
  async start(run, frame, task, variables) {
    frame.body = { is: 'try', phase: 'try', attempt: 0, list: null };
    return await attempt(run, frame, task, variables);
  },
  async advance(run, frame, task, variables, signal) {
    const body = bodyOf(frame, 'try');
    if (body.phase === 'retry') {
      if (signal.is !== 'cancel') {
        body.phase = 'try';
        body.attempt += 1;
        return await attempt(run, frame, task, variables);
      }
      closeStep(run, `${frame.key}:retry.${body.attempt}`);
      return await caught(run, frame, task, variables, cancelledAt(frame).fault);
    }
    if (signal.is === 'outcome' && signal.key === attemptKey(frame)) {
      closeChildren(run, frame);
      body.list = null;
      return await caught(run, frame, task, variables, standardFault('timeout', { instance: frame.task }));
    }
    // The time limit of an attempt must not interrupt the cleanup inside it.
    if (signal.is === 'cancel') closeStep(run, attemptKey(frame));
    if (!body.list) throw new TypeError(`no task is running at ${frame.key}`);
    const inner = body.phase === 'try' ? variables : handlerVariables(frame, task, variables);
    return await after(run, frame, task, variables, await advanceList(run, body.list, inner, signal));
  },
};

async function attempt(run: Run, frame: Frame, task: TryTask, variables: Variables): Promise<Progress> {
  const body = bodyOf(frame, 'try');
  const limit = retryPolicy(run, task)?.limit?.attempt?.duration;
  if (limit !== undefined) {
    const milliseconds = await evaluateDuration(limit, taskSight(run, frame, variables));
    const dueAt = later(run.env.now, milliseconds);
    openStep(run, { key: attemptKey(frame), kind: 'timer', request: { purpose: 'timeout' }, dueAt });
  }
  body.list = listFor(frame, 'try', body.attempt);
  return await after(run, frame, task, variables, await enterList(run, body.list, inputOf(frame), variables));
}

async function after(
  run: Run,
  frame: Frame,
  task: TryTask,
  variables: Variables,
  progress: Progress,
): Promise<Progress> {
  const body = bodyOf(frame, 'try');
  if (progress.is === 'pending') return progress;
  if (body.phase === 'cleanup') return { is: 'fault', fault: body.fault ?? cancelledAt(frame).fault };
  if (body.phase === 'catch' || progress.is !== 'fault') return progress;
  return await caught(run, frame, task, variables, progress.fault);
}

/** Decides what happens with a fault inside the `try`: it is passed on, retried or handled. */
async function caught(run: Run, frame: Frame, task: TryTask, variables: Variables, fault: Fault): Promise<Progress> {
  const body = bodyOf(frame, 'try');
  closeStep(run, attemptKey(frame));
  body.list = null;
  body.fault = fault;
  const inner = handlerVariables(frame, task, variables);
  const passedOn: Progress = { is: 'fault', fault };
  if (!(await catches(run, frame, task, inner, fault))) return passedOn;
  const isCancellation = fault.type === CANCELLED && run.state.cancelling === true;
  if (task.catch.retry !== undefined && !isCancellation) {
    const delay = await retryDelay(run, frame, task, inner, body.attempt + 1);
    if (delay !== null) {
      body.phase = 'retry';
      const key = `${frame.key}:retry.${body.attempt}`;
      openStep(run, { key, kind: 'timer', request: { purpose: 'retry' }, dueAt: later(run.env.now, delay) });
      recordTask(run, frame, 'retried');
      return PENDING;
    }
  }
  if (!task.catch.do) {
    // A policy without retries left has not handled the fault; only a catch without a policy means "ignore it".
    return task.catch.retry !== undefined || isCancellation ? passedOn : { is: 'done', value: inputOf(frame) };
  }
  body.phase = isCancellation ? 'cleanup' : 'catch';
  body.list = listFor(frame, 'catch/do', body.attempt);
  return await after(run, frame, task, variables, await enterList(run, body.list, inputOf(frame), inner));
}

function handlerVariables(frame: Frame, task: TryTask, variables: Variables): Variables {
  const { fault } = bodyOf(frame, 'try');
  return { ...variables, [task.catch.as ?? 'error']: (fault ?? null) as unknown as Json };
}

function attemptKey(frame: Frame): string {
  return `${frame.key}:attempt.${bodyOf(frame, 'try').attempt}`;
}

function listFor(frame: Frame, part: string, attemptNumber: number) {
  return newList(`${frame.task}/${part}`, `${pointerOf(frame.key)}/${part}`, `${pathOf(frame.key)}.${attemptNumber}.`);
}
