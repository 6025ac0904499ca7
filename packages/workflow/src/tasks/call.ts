import type { TaskOf } from '../document/definition.js';
import { evaluateValue } from '../expression/evaluate.js';
import { pointerSegment } from '../json.js';
import { taskSight } from '../machine/data.js';
import { pathOf, pointerOf } from '../machine/keys.js';
import { bodyOf, openStep, PENDING, type Progress, type TaskKind } from '../machine/run.js';
import type { Frame } from '../machine/state.js';
import { advanceTask, enterTask, inputOf, newFrame, settleStep } from '../machine/task.js';
import { httpRequest } from './http.js';

/**
 * Requests a call from the host: the step's request is `{call, with}`, with everything in it evaluated. A function of
 * the workflow itself is a task instead. It runs in place, without the caller's variables; its input is `with`, or the
 * caller's input when there is no `with`.
 */
export const callTask: TaskKind<TaskOf<'call'>> = {
  async start(run, frame, task, variables) {
    const sight = taskSight(run, frame, variables);
    const functions = run.workflow.use?.functions ?? {};
    if (Object.hasOwn(functions, task.call)) {
      const input = task.with === undefined ? inputOf(frame) : await evaluateValue(task.with, sight);
      const name = pointerSegment(task.call);
      const child = newFrame(
        run,
        `/use/functions/${name}`,
        `${pointerOf(frame.key)}/${name}#${pathOf(frame.key)}`,
        input,
      );
      frame.body = { is: 'function', frame: child };
      return finish(frame, await enterTask(run, child, {}));
    }
    const given =
      task.call === 'http'
        ? await httpRequest(run, task.with ?? {}, sight)
        : await evaluateValue(task.with ?? {}, sight);
    frame.body = { is: 'step' };
    openStep(run, { key: frame.key, kind: 'call', request: { call: task.call, with: given } });
    return PENDING;
  },
  async advance(run, frame, _task, _variables, signal) {
    if (frame.body?.is === 'step') return settleStep(run, frame, signal);
    const body = bodyOf(frame, 'function');
    if (!body.frame) throw new TypeError(`no task is running at ${frame.key}`);
    return finish(frame, await advanceTask(run, body.frame, {}, signal));
  },
};

/** A function's own `then` has no effect on its caller, except that `end` ends the workflow. */
function finish(frame: Frame, progress: Progress): Progress {
  if (progress.is === 'pending') return progress;
  bodyOf(frame, 'function').frame = null;
  if (progress.is !== 'done') return progress;
  return progress.then === 'end' ? { is: 'end', value: progress.value } : { is: 'done', value: progress.value };
}
