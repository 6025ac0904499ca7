import type { TaskOf } from '../document/definition.js';
import { ownerOf, pathOf, pointerOf, taskPointer } from '../machine/keys.js';
import {
  bodyOf,
  holds,
  PENDING,
  type Progress,
  type Run,
  type Signal,
  type TaskKind,
  type Variables,
} from '../machine/run.js';
import type { Frame } from '../machine/state.js';
import { advanceTask, cancelledAt, enterTask, inputOf, newFrame } from '../machine/task.js';

type ForkTask = TaskOf<'fork'>;

/**
 * Runs tasks in parallel. Without `compete` its value is the array of their results, in the order of the definition.
 * With `compete`, the first branch that ends decides, with its result or its fault. Any fault ends the fork and stops
 * the other branches.
 */
export const forkTask: TaskKind<ForkTask> = {
  async start(run, frame, task, variables) {
    const body: Extract<Frame['body'], { is: 'fork' }> = { is: 'fork', branches: [] };
    frame.body = body;
    for (const [index, item] of task.fork.branches.entries()) {
      const name = Object.keys(item)[0] ?? '';
      const key = `${taskPointer(`${pointerOf(frame.key)}/fork/branches`, index, name)}#${pathOf(frame.key)}.0`;
      const child = newFrame(run, taskPointer(`${frame.task}/fork/branches`, index, name), key, inputOf(frame));
      body.branches.push({ is: 'open', frame: child });
      const decided = settle(frame, task, index, await enterTask(run, child, variables));
      if (decided) return decided;
    }
    return whole(frame);
  },
  async advance(run, frame, task, variables, signal) {
    if (signal.is === 'cancel') return await cancelBranches(run, frame, variables, signal);
    const { branches, cancelled } = bodyOf(frame, 'fork');
    const owner = ownerOf(signal.key);
    for (const [index, branch] of branches.entries()) {
      if (branch.is !== 'open' || !holds(branch.frame, owner)) continue;
      const progress = await advanceTask(run, branch.frame, variables, signal);
      const decided = settle(frame, task, index, progress);
      // During a cancellation, every branch gets the time that it needs to clean up.
      if (decided && !cancelled) return decided;
    }
    return whole(frame);
  },
};

async function cancelBranches(run: Run, frame: Frame, variables: Variables, signal: Signal): Promise<Progress> {
  const body = bodyOf(frame, 'fork');
  body.cancelled = true;
  for (const [index, branch] of body.branches.entries()) {
    if (branch.is !== 'open') continue;
    const progress = await advanceTask(run, branch.frame, variables, signal);
    if (progress.is !== 'pending')
      body.branches[index] = { is: 'failed', fault: (progress.is === 'fault' ? progress : cancelledAt(frame)).fault };
  }
  return whole(frame);
}

/** Records the end of a branch, and decides whether the fork ends. */
function settle(frame: Frame, task: ForkTask, index: number, progress: Progress): Progress | null {
  if (progress.is === 'pending') return null;
  const { branches } = bodyOf(frame, 'fork');
  if (progress.is === 'fault') {
    branches[index] = { is: 'failed', fault: progress.fault };
    return progress;
  }
  branches[index] = { is: 'done', value: progress.value };
  if (progress.is === 'end' || progress.then === 'end') return { is: 'end', value: progress.value };
  return task.fork.compete ? { is: 'done', value: progress.value } : null;
}

function whole(frame: Frame): Progress {
  const { branches, cancelled } = bodyOf(frame, 'fork');
  if (branches.some((branch) => branch.is === 'open')) return PENDING;
  if (cancelled) return cancelledAt(frame);
  return { is: 'done', value: branches.flatMap((branch) => (branch.is === 'done' ? [branch.value] : [])) };
}
