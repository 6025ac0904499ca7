import type { Json } from '../types.js';

/** The continuation of an execution, as JSON. Callers keep it and hand it back; only the machine reads it. */
export interface State {
  v: 1;
  [part: string]: Json;
}
