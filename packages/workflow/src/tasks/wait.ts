import type { TaskOf } from '../document/definition.js';
import { later } from '../duration.js';
import { evaluateDuration, taskSight } from '../machine/data.js';
import { openStep, PENDING, type TaskKind } from '../machine/run.js';
import { inputOf, settleStep } from '../machine/task.js';

/** Waits for a duration; the data passes through. */
export const waitTask: TaskKind<TaskOf<'wait'>> = {
  async start(run, frame, task, variables) {
    const milliseconds = await evaluateDuration(task.wait, taskSight(run, frame, variables));
    frame.body = { is: 'step' };
    const dueAt = later(run.env.now, milliseconds);
    openStep(run, { key: frame.key, kind: 'timer', request: { purpose: 'wait' }, dueAt });
    return PENDING;
  },
  advance(run, frame, _task, _variables, signal) {
    const progress = settleStep(run, frame, signal);
    return progress.is === 'done' ? { is: 'done', value: inputOf(frame) } : progress;
  },
};
