import { isStorable } from '@belay/contract/text';
import type { Json, JsonObject } from './types.js';

/** Returns whether a value is a JSON object, as opposed to an array, a scalar or undefined. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns whether two JSON values are equal; the order of an object's keys does not matter. */
export function isEqual(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one)) {
    return (
      Array.isArray(other) && one.length === other.length && one.every((item, index) => isEqual(item, other[index]))
    );
  }
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isEqual(one[key], other[key]))
  );
}

export type Excess = 'depth' | 'length' | 'text';

/** The limits on the data of an execution. */
export const BOUNDS = { depth: 1000, length: 16_000_000, storable: true } as const;

/** The messages for data that exceeds these limits. */
export const BEYOND: { [E in Excess]: string } = {
  depth: `data must not be nested deeper than ${BOUNDS.depth} levels`,
  length: `data must not be longer than ${BOUNDS.length} characters`,
  text: 'data must not contain NUL characters or broken surrogate pairs',
};

/** Returns whether an error is the one that JavaScript throws when a value is nested too deep for its stack. */
export function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes('call stack');
}

interface Limit {
  depth: number;
  length: number;
  storable?: boolean;
}

/**
 * Returns which limit a value exceeds first: `depth`, `length` (as text) or, when `storable` is set, `text` that cannot
 * be stored; null when it exceeds none. Values share their parts in memory, so a small program can make a value that is
 * huge as text; this function stops counting at the limit and never recurses.
 */
export function exceeds(value: Json, limit: Limit): Excess | null {
  const walk = measure(value, limit);
  for (;;) {
    const { done, value: excess } = walk.next();
    if (done) return excess;
  }
}

/**
 * Returns the same as `exceeds` for a value that may be large; awaits `breathe` after every 20,000 values inside it.
 * The value must not change meanwhile.
 */
export async function exceedsInParts(value: Json, limit: Limit, breathe: () => unknown): Promise<Excess | null> {
  const walk = measure(value, limit);
  for (;;) {
    const { done, value: excess } = walk.next();
    if (done) return excess;
    await breathe();
  }
}

/** How many values are checked at a time. */
const PART = 20_000;

/** Visits everything in a value, level by level. */
function* measure(root: Json, limit: Limit): Generator<undefined, Excess | null> {
  let length = 0;
  let looked = 0;
  let level: Json[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    const below: Json[] = [];
    for (const value of level) {
      looked += 1;
      if (looked % PART === 0) yield;
      length += typeof value === 'string' ? value.length + 2 : 4;
      if (length > limit.length) return 'length';
      if (typeof value === 'string') {
        if (limit.storable && !isStorable(value)) return 'text';
      } else if (typeof value === 'object' && value !== null) {
        if (depth >= limit.depth) return 'depth';
        if (Array.isArray(value)) {
          // Every element counts, so a long array exceeds the limit before it is copied.
          if (length + value.length > limit.length) return 'length';
          for (const item of value) below.push(item);
        } else {
          for (const key of Object.keys(value)) {
            length += key.length + 3;
            if (limit.storable && !isStorable(key)) return 'text';
            below.push(value[key] as Json);
          }
        }
      }
    }
    level = below;
  }
  return null;
}

/** Returns one segment of a JSON pointer, escaped (RFC 6901). */
export function pointerSegment(name: string | number): string {
  return String(name).replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Returns the value at a JSON pointer (RFC 6901), or undefined. */
export function atPointer(root: unknown, pointer: string): unknown {
  let value = root;
  for (const raw of pointer.split('/').slice(1)) {
    const segment = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, segment)) return undefined;
    value = (value as { [key: string]: unknown })[segment];
  }
  return value;
}
