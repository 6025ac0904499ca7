export type { Demo, DemoComposer, DemoOptions } from './modes/demo.js';
export type { RunningServer } from './modes/server.js';
export { runServer } from './run.js';
