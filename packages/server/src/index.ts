export type { Demo, DemoComposer, DemoOptions } from './modes/demo.js';
export { runServer } from './run.js';
