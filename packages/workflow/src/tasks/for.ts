import type { TaskOf } from '../document/definition.js';
import { evaluateAlways, evaluateCondition } from '../expression/evaluate.js';
import { Raised, standardFault } from '../fault.js';
import { taskSight } from '../machine/data.js';
import { pathOf, pointerOf } from '../machine/keys.js';
import { advanceList, enterList, newList } from '../machine/list.js';
import { bodyOf, type Progress, type Run, type TaskKind, type Variables } from '../machine/run.js';
import type { Frame, ListFrame } from '../machine/state.js';
import { inputOf } from '../machine/task.js';
import type { Json } from '../types.js';

type ForTask = TaskOf<'for'>;

/** Runs its tasks once per item; every iteration starts with the result of the previous one. */
export const forTask: TaskKind<ForTask> = {
  async start(run, frame, task, variables) {
    const items = await evaluateAlways(task.for.in, taskSight(run, frame, variables));
    if (!Array.isArray(items))
      throw new Raised(standardFault('expression', { detail: 'for.in must evaluate to an array' }));
    // An empty list of tasks has no effect, and its iterations would use none of the transition's fuel.
    if (task.do.length === 0) return { is: 'done', value: inputOf(frame) };
    frame.body = { is: 'for', items, index: 0, list: listFor(frame, 0) };
    return await iterate(run, frame, task, variables, 0, inputOf(frame));
  },
  async advance(run, frame, task, variables, signal) {
    const body = bodyOf(frame, 'for');
    const progress = await advanceList(run, body.list, itemVariables(frame, task, variables), signal);
    return progress.is === 'done'
      ? await iterate(run, frame, task, variables, body.index + 1, progress.value)
      : progress;
  },
};

async function iterate(
  run: Run,
  frame: Frame,
  task: ForTask,
  variables: Variables,
  from: number,
  given: Json,
): Promise<Progress> {
  const body = bodyOf(frame, 'for');
  let value = given;
  for (body.index = from; body.index < body.items.length; body.index += 1) {
    const inner = itemVariables(frame, task, variables);
    if (task.while !== undefined) {
      if (!(await evaluateCondition(task.while, taskSight(run, frame, inner, { input: value })))) break;
    }
    body.list = listFor(frame, body.index);
    const progress = await enterList(run, body.list, value, inner);
    if (progress.is !== 'done') return progress;
    value = progress.value;
  }
  return { is: 'done', value };
}

function itemVariables(frame: Frame, task: ForTask, variables: Variables): Variables {
  const { items, index } = bodyOf(frame, 'for');
  return { ...variables, [task.for.each ?? 'item']: items[index] ?? null, [task.for.at ?? 'index']: index };
}

function listFor(frame: Frame, index: number): ListFrame {
  return newList(`${frame.task}/do`, `${pointerOf(frame.key)}/do`, `${pathOf(frame.key)}.${index}.`);
}
