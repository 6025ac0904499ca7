import type { Run } from '../machine/run.js';
import { callTask } from './call.js';
import { doTask } from './do.js';
import { emitTask } from './emit.js';
import { forTask } from './for.js';
import { forkTask } from './fork.js';
import { listenTask } from './listen.js';
import { raiseTask } from './raise.js';
import { setTask } from './set.js';
import { switchTask } from './switch.js';
import { tryTask } from './try.js';
import { waitTask } from './wait.js';

/** Every kind of task, by the key that a task is recognised by. */
export const kinds: Run['kinds'] = {
  call: callTask,
  do: doTask,
  emit: emitTask,
  for: forTask,
  fork: forkTask,
  listen: listenTask,
  raise: raiseTask,
  set: setTask,
  switch: switchTask,
  try: tryTask,
  wait: waitTask,
};
