export {
  createFile,
  readIfPresent,
  removeUnfinished,
  replaceFile,
  syncFolder,
  type WriteOptions,
} from './atomic-file.js';
export { createBoundedFetch, tooLarge } from './bounded-fetch.js';
export { findFreePort, isPortFree } from './find-free-port.js';
export { inspectProcess } from './inspect-process.js';
export { findLockHolder, holdLock, tryLock } from './lock-file.js';
export { findListeners, findPeer } from './loopback-owner.js';
export { runProgram } from './run-program.js';
