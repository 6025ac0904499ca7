export type { QueueBackend } from './backend.js';
export { openQueueBackend } from './open-backend.js';
export { QueueTablesHeld } from './prepare-tables.js';
export { startWorker } from './start.js';
export { createWaker } from './waker.js';
