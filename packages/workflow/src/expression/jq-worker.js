// Runs jq, one program at a time, in a thread of its own that the pool ends when a program takes too long.
import { parentPort, workerData } from 'node:worker_threads';
import { loadJq } from './bounded-jq.js';
import { lowerPriority, openThreadClock, threadId } from './thread-clock.js';

const port = parentPort;
if (!port) throw new Error('the jq worker runs only as a worker thread');
const thread = threadId();
const clock = openThreadClock(thread);
// Before jq is loaded: a program that never ends costs its thread, and loading jq in the next thread must not slow down
// the process.
lowerPriority(thread);
const jq = await loadJq(workerData.module);

port.on('message', (/** @type {{ program: string, input: string, raises: boolean }} */ { program, input, raises }) => {
  const before = clock();
  const result = jq.run(program, input, raises);
  port.postMessage({ ...result, milliseconds: clock() - before, worn: jq.isWorn() });
});
port.postMessage({ is: 'ready', thread, module: jq.module });
