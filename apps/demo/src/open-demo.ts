import type { DemoComposer } from '@belay/server';
import { isFromHere, requireLoopback } from './only-here.js';
import { startDemo } from './start-demo.js';
import { startSwitchableWorker } from './switchable-worker.js';

/** The demo, for a server that finds no configuration. */
export const openDemo: DemoComposer = {
  check: requireLoopback,
  start: startDemo,
  admits: isFromHere,
  startWorker: startSwitchableWorker,
};
