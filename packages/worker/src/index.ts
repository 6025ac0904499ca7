export { openQueueBackend, type QueueBackend, type QueueBackendOptions } from './backend.js';
export { type RunningWorker, startWorker, type WorkerOptions } from './start.js';
export { createWaker } from './waker.js';
