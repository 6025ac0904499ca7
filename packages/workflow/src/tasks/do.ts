import type { TaskOf } from '../document/definition.js';
import { pathOf, pointerOf } from '../machine/keys.js';
import { advanceList, enterList, newList } from '../machine/list.js';
import { bodyOf, type TaskKind } from '../machine/run.js';
import { inputOf } from '../machine/task.js';

/** Runs tasks one after the other. */
export const doTask: TaskKind<TaskOf<'do'>> = {
  async start(run, frame, _task, variables) {
    const list = newList(`${frame.task}/do`, `${pointerOf(frame.key)}/do`, `${pathOf(frame.key)}.`);
    frame.body = { is: 'do', list };
    return await enterList(run, list, inputOf(frame), variables);
  },
  async advance(run, frame, _task, variables, signal) {
    return await advanceList(run, bodyOf(frame, 'do').list, variables, signal);
  },
};
