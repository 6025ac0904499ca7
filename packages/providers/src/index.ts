export * from './errors.js';
export * from './port.js';
export * from './registry.js';
