import type { Json } from '@belay/workflow';

/** The function that a call step's request names. */
export function callName(request: unknown): string {
  return isObject(request) && typeof request.call === 'string' ? request.call : '';
}

/** What the function is called with. */
export function callWith(request: unknown): Json {
  return isObject(request) ? ((request.with ?? null) as Json) : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object';
}
