// Runs jq, one program at a time, in a thread of its own that the pool ends when a program takes too long.
import { parentPort } from 'node:worker_threads';
import ready from 'jq-web';
import { openThreadClock } from './thread-clock.js';

const port = parentPort;
if (!port) throw new Error('the jq worker runs only as a worker thread');
const jq = await ready;
const clock = openThreadClock();

port.on('message', (/** @type {{ program: string, input: string }} */ { program, input }) => {
  const before = clock();
  try {
    const text = jq.raw(input, program, ['-c']) ?? '';
    port.postMessage({ is: 'output', text, milliseconds: clock() - before });
  } catch (error) {
    const exitCode = error instanceof Error && 'exitCode' in error ? error.exitCode : undefined;
    // Without an exit code jq itself broke, and would answer every later program wrongly.
    if (exitCode === undefined) port.postMessage({ is: 'broken' });
    else {
      const message = error instanceof Error ? error.message : '';
      port.postMessage({ is: 'failed', exitCode, message, milliseconds: clock() - before });
    }
  }
});
port.postMessage({ is: 'ready' });
