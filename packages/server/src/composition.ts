/** The parts that benchmarks and tests compose in their own way. */
export { type App, type AppOptions, createApp } from './http/app.js';
export { defaultLimits, type Limits } from './http/limits.js';
export { createMeters, type Meters } from './meters.js';
