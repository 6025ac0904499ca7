import type { z } from 'zod';
import type { switchCaseSchema, TaskOf } from '../document/definition.js';
import { evaluateCondition } from '../expression/evaluate.js';
import { taskSight } from '../machine/data.js';
import type { TaskKind } from '../machine/run.js';
import { inputOf } from '../machine/task.js';

/**
 * Takes the `then` of the first case whose condition is true, otherwise that of the case without a condition. The data
 * passes through.
 */
export const switchTask: TaskKind<TaskOf<'switch'>> = {
  async start(run, frame, task, variables) {
    const value = inputOf(frame);
    const sight = taskSight(run, frame, variables);
    let otherwise: string | undefined;
    for (const item of task.switch) {
      const { when, then } = Object.values(item)[0] as z.infer<typeof switchCaseSchema>;
      if (when === undefined) otherwise = then;
      else if (await evaluateCondition(when, sight)) return { is: 'done', value, then };
    }
    return otherwise === undefined ? { is: 'done', value } : { is: 'done', value, then: otherwise };
  },
};
