/** The parts that the benchmark puts together in its own way. */
export { createApp } from './http/app.js';
export { defaultLimits } from './http/limits.js';
