import type { DemoComposer } from '@belay/server';
import { isFromHere, requireLoopback } from './only-here.js';
import { startDemo } from './start-demo.js';
import { startSwitchableWorker } from './switchable-worker.js';

/** Opens the demo, for a server without a configuration. */
export const openDemo: DemoComposer = {
  check: requireLoopback,
  start: startDemo,
  admits: isFromHere,
  startWorker: startSwitchableWorker,
};
