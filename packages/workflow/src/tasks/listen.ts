import type { EventFilter, TaskOf } from '../document/definition.js';
import { evaluateCondition } from '../expression/evaluate.js';
import { exportContext, taskSight, transform } from '../machine/data.js';
import { pathOf, pointerOf } from '../machine/keys.js';
import { advanceList, enterList, newList } from '../machine/list.js';
import {
  bodyOf,
  closeStep,
  openStep,
  PENDING,
  type Progress,
  type Run,
  type TaskKind,
  type Variables,
} from '../machine/run.js';
import type { Frame, ListenBody } from '../machine/state.js';
import { cancelledAt, inputOf } from '../machine/task.js';
import type { CloudEvent, Json, JsonObject } from '../types.js';
import { describeFilter, matches } from './event-filter.js';

type ListenTask = TaskOf<'listen'>;

interface Strategy {
  one?: EventFilter;
  any?: EventFilter[];
  all?: EventFilter[];
  until?: string | Strategy;
}

/**
 * Waits for events; its value is the array of the consumed events, each as returned by `foreach`. Its step stays open
 * while it listens. Events are processed one at a time, in order.
 */
export const listenTask: TaskKind<ListenTask> = {
  async start(run, frame, task, variables) {
    const body: ListenBody = {
      is: 'listen',
      listening: true,
      matched: [],
      untilMatched: [],
      expected: {},
      queue: [],
      outputs: [],
      list: null,
    };
    frame.body = body;
    const strategy = strategyOf(task);
    if (strategy.all?.length === 0) body.listening = false;
    else openStep(run, { key: frame.key, kind: 'event', request: describe(strategy) });
    return await work(run, frame, task, variables);
  },
  async advance(run, frame, task, variables, signal) {
    const body = bodyOf(frame, 'listen');
    if (signal.is === 'event' && signal.key === frame.key) {
      const admitted = signal.admits(task.metadata);
      if (admitted && (await consume(run, frame, task, variables, signal.event))) body.listening = false;
      if (!body.listening) closeStep(run, frame.key);
      return body.list ? PENDING : await work(run, frame, task, variables);
    }
    if (signal.is === 'cancel') stop(run, frame);
    if (!body.list) return cancelledAt(frame);
    const inner = itemVariables(frame, task, variables);
    const progress = await advanceList(run, body.list, inner, signal);
    if (progress.is !== 'done') return progress;
    await finishItem(run, frame, task, variables, progress.value);
    return await work(run, frame, task, variables);
  },
};

/** Takes an event if it matches; returns true when no further event is needed. */
async function consume(
  run: Run,
  frame: Frame,
  task: ListenTask,
  variables: Variables,
  event: CloudEvent,
): Promise<boolean> {
  const body = bodyOf(frame, 'listen');
  const strategy = strategyOf(task);
  // An event that matches `until` is never one of the consumed events.
  if (typeof strategy.until === 'object') {
    const ended = await take(run, frame, variables, strategy.until, body.untilMatched, event);
    if (ended !== null) {
      run.consumed = true;
      return ended;
    }
  }
  const enough = await take(run, frame, variables, strategy, body.matched, event);
  if (enough === null) return false;
  run.consumed = true;
  body.queue.push(readEvent(event, task.listen.read));
  return enough && strategy.until === undefined;
}

/** Returns null when the event does not match the strategy, otherwise whether it was the last one needed. */
async function take(
  run: Run,
  frame: Frame,
  variables: Variables,
  strategy: Strategy,
  matched: number[],
  event: CloudEvent,
): Promise<boolean | null> {
  const filters = strategy.all ?? strategy.any ?? (strategy.one ? [strategy.one] : []);
  if (strategy.any?.length === 0) return true;
  const { expected } = bodyOf(frame, 'listen');
  for (const [index, filter] of filters.entries()) {
    if (strategy.all && matched.includes(index)) continue;
    if (!(await matches(filter, event, expected, taskSight(run, frame, variables)))) continue;
    if (!strategy.all) return true;
    matched.push(index);
    return matched.length === filters.length;
  }
  return null;
}

/** Processes the waiting events, until one of them makes the task wait or no event is left. */
async function work(run: Run, frame: Frame, task: ListenTask, variables: Variables): Promise<Progress> {
  const body = bodyOf(frame, 'listen');
  while (body.queue.length > 0) {
    const item = body.queue[0] ?? null;
    let value = item;
    if (task.foreach?.do) {
      const index = body.outputs.length;
      const at = 'foreach/do';
      body.list = newList(`${frame.task}/${at}`, `${pointerOf(frame.key)}/${at}`, `${pathOf(frame.key)}.${index}.`);
      const progress = await enterList(run, body.list, inputOf(frame), itemVariables(frame, task, variables));
      if (progress.is !== 'done') return progress;
      value = progress.value;
    }
    await finishItem(run, frame, task, variables, value);
  }
  return body.listening ? PENDING : { is: 'done', value: body.outputs };
}

async function finishItem(run: Run, frame: Frame, task: ListenTask, variables: Variables, value: Json): Promise<void> {
  const body = bodyOf(frame, 'listen');
  const inner = itemVariables(frame, task, variables);
  const output = await transform(run, task.foreach?.output, taskSight(run, frame, inner, { input: value }), 'output');
  if (task.foreach?.export) {
    await exportContext(run, task.foreach.export, taskSight(run, frame, inner, { input: output, output }));
  }
  body.list = null;
  body.queue.shift();
  body.outputs.push(output);
  const { until } = strategyOf(task);
  if (typeof until !== 'string') return;
  if (await evaluateCondition(until, taskSight(run, frame, variables, { input: body.outputs }))) stop(run, frame);
}

/** Ends the listening, and drops the events that wait for `foreach`, except the one that is being processed. */
function stop(run: Run, frame: Frame): void {
  const body = bodyOf(frame, 'listen');
  body.listening = false;
  body.queue = body.list ? body.queue.slice(0, 1) : [];
  closeStep(run, frame.key);
}

function itemVariables(frame: Frame, task: ListenTask, variables: Variables): Variables {
  if (!task.foreach) return variables;
  const { queue, outputs } = bodyOf(frame, 'listen');
  const { item = 'item', at = 'index' } = task.foreach;
  return { ...variables, [item]: queue[0] ?? null, [at]: outputs.length };
}

function readEvent(event: CloudEvent, read: ListenTask['listen']['read']): Json {
  if (read === 'envelope') return event as unknown as Json;
  const data = event.data ?? null;
  return read === 'raw' && typeof data !== 'string' ? JSON.stringify(data) : data;
}

function strategyOf(task: ListenTask): Strategy {
  return task.listen.to as unknown as Strategy;
}

/** Returns a description of the awaited events, as far as the definition names them literally. */
function describe(strategy: Strategy): Json {
  const listen = strategy.one ? 'one' : strategy.all ? 'all' : 'any';
  const filters = strategy.all ?? strategy.any ?? (strategy.one ? [strategy.one] : []);
  const described: JsonObject = { listen, events: filters.map(describeFilter) };
  if (typeof strategy.until === 'object') described.until = describe(strategy.until);
  return described;
}
