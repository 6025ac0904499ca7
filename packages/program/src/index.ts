export { type Closing, createClosing } from './closing.js';
export { arriving, behindProxy, listen, stopListening } from './listen.js';
export { createLogger, type Logger } from './logger.js';
export { clock, delay, elapsed, machine, newId, random, randomBytes } from './machine.js';
export { parseVariables, portVariable } from './parse-variables.js';
export { type ProcessLike, readProgram, rootPath } from './program.js';
export { oneLine, StartError } from './start-error.js';
