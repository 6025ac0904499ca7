import type { TaskOf } from '../document/definition.js';
import { evaluateTransform } from '../expression/evaluate.js';
import { taskSight } from '../machine/data.js';
import type { TaskKind } from '../machine/run.js';

/** Replaces the data. */
export const setTask: TaskKind<TaskOf<'set'>> = {
  async start(run, frame, task, variables) {
    return { is: 'done', value: await evaluateTransform(task.set, taskSight(run, frame, variables)) };
  },
};
