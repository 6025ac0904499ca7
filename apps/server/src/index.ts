export { runServer } from './run.js';
export { type RunningServer, type StartOptions, startServer } from './start.js';
