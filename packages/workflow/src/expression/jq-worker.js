// Runs jq, one program at a time, in a thread of its own that the pool ends when a program takes too long.
import { parentPort } from 'node:worker_threads';
import ready from 'jq-web';

const port = parentPort;
if (!port) throw new Error('the jq worker runs only as a worker thread');
const jq = await ready;

port.on('message', (/** @type {{ program: string, input: string }} */ { program, input }) => {
  try {
    port.postMessage({ is: 'output', text: jq.raw(input, program, ['-c']) ?? '' });
  } catch (error) {
    const exitCode = error instanceof Error && 'exitCode' in error ? error.exitCode : undefined;
    // Without an exit code jq itself broke, and would answer every later program wrongly.
    if (exitCode === undefined) port.postMessage({ is: 'broken' });
    else port.postMessage({ is: 'failed', exitCode, message: error instanceof Error ? error.message : '' });
  }
});
port.postMessage({ is: 'ready' });
