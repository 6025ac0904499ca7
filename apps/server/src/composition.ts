/** The parts that the benchmark puts together in its own way. */
export { startEmbeddedPostgres } from './embedded/index.js';
export { findFreePort } from './find-free-port.js';
export { createApp } from './http/app.js';
export { defaultLimits } from './http/limits.js';
export { newId } from './machine.js';
