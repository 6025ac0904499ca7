import type { TaskList } from '../document/definition.js';
import { atPointer } from '../json.js';
import type { Json } from '../types.js';
import { taskPointer } from './keys.js';
import type { Progress, Run, Signal, Variables } from './run.js';
import type { ListFrame } from './state.js';
import { advanceTask, enterTask, newFrame } from './task.js';

/** Returns a list of tasks at `at`; the keys of its tasks start with `key` before the `#` and `path` after it. */
export function newList(at: string, key: string, path: string): ListFrame {
  return { at, key, path, index: 0, lap: 0, current: null };
}

/** Runs a list from its start. The value of the list is that of its last task, or the input when the list is empty. */
export async function enterList(run: Run, list: ListFrame, input: Json, variables: Variables): Promise<Progress> {
  return await goOn(run, list, 0, input, variables);
}

/** Passes a signal to the running task of the list and continues from there. */
export async function advanceList(run: Run, list: ListFrame, variables: Variables, signal: Signal): Promise<Progress> {
  if (!list.current) throw new TypeError(`no task is running at ${list.at}`);
  const progress = await advanceTask(run, list.current, variables, signal);
  return await follow(run, list, progress, variables);
}

async function goOn(run: Run, list: ListFrame, index: number, input: Json, variables: Variables): Promise<Progress> {
  const progress = await enterAt(run, list, index, input, variables);
  return progress ? await follow(run, list, progress, variables) : { is: 'done', value: input };
}

/** Starts the task at an index; returns null when the list ends before it. */
async function enterAt(
  run: Run,
  list: ListFrame,
  index: number,
  input: Json,
  variables: Variables,
): Promise<Progress | null> {
  const name = Object.keys(tasksOf(run, list)[index] ?? {})[0];
  if (name === undefined) return null;
  list.index = index;
  const key = `${taskPointer(list.key, index, name)}#${list.path}${list.lap}`;
  list.current = newFrame(run, taskPointer(list.at, index, name), key, input);
  return await enterTask(run, list.current, variables);
}

async function follow(run: Run, list: ListFrame, given: Progress, variables: Variables): Promise<Progress> {
  let progress = given;
  while (progress.is !== 'pending') {
    list.current = null;
    if (progress.is !== 'done') return progress;
    const { value, then = 'continue' } = progress;
    if (then === 'end') return { is: 'end', value };
    if (then === 'exit') return { is: 'done', value };
    const next =
      then === 'continue' ? list.index + 1 : tasksOf(run, list).findIndex((item) => Object.hasOwn(item, then));
    // The lap number keeps the keys of a task apart when its list jumps back to it.
    if (next <= list.index) list.lap += 1;
    const entered = await enterAt(run, list, next, value, variables);
    if (!entered) return { is: 'done', value };
    progress = entered;
  }
  return progress;
}

function tasksOf(run: Run, list: ListFrame): TaskList {
  return (atPointer(run.workflow, list.at) ?? []) as TaskList;
}
