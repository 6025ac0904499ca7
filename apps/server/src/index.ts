export type { Demo, DemoComposer, DemoOptions } from './modes/demo.js';
export { runServer } from './run.js';
export { type RunningServer, type StartOptions, startServer } from './start.js';
