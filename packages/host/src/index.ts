export { findFreePort } from './find-free-port.js';
export { inspectProcess } from './inspect-process.js';
