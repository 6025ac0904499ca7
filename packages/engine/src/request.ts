import type { Json } from '@belay/workflow';

/** Returns the name of the function in a call step's request. */
export function callName(request: unknown): string {
  return isObject(request) && typeof request.call === 'string' ? request.call : '';
}

/** Returns the arguments of the function. */
export function callWith(request: unknown): Json {
  return isObject(request) ? ((request.with ?? null) as Json) : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object';
}
