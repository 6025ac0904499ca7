// Checks values against JSON Schemas, one at a time, in a thread of its own that is ended when a check takes too long.
import { parentPort } from 'node:worker_threads';
import { compileSchema, listDifferences } from '../document/json-schema.js';
import { lowerPriority, openThreadClock, threadId } from './thread-clock.js';

const port = parentPort;
if (!port) throw new Error('the schema worker runs only as a worker thread');
const thread = threadId();
lowerPriority(thread);
const clock = openThreadClock(thread);

/** @param {string} schema @param {string} value */
function check(schema, value) {
  try {
    if (value === '') compileSchema(JSON.parse(schema));
    const found = value === '' ? [] : listDifferences(JSON.parse(schema), JSON.parse(value));
    return { is: 'output', text: JSON.stringify(found) };
  } catch (error) {
    const tooDeep = error instanceof RangeError;
    const message = tooDeep ? 'nests or refers to itself too deep' : error instanceof Error ? error.message : '';
    return { is: 'failed', exitCode: 0, message, own: false };
  }
}

port.on('message', (/** @type {{ program: string, input: string }} */ { program, input }) => {
  const before = clock();
  const result = check(program, input);
  port.postMessage({ ...result, milliseconds: clock() - before, worn: false });
});
port.postMessage({ is: 'ready', thread, module: {} });
