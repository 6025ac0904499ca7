import { isObject } from '../json.js';
import type { Json } from '../types.js';

/** The size of a value that is checked against a plain schema in place; larger values are checked in a thread. */
export const PLAIN_VALUE = { depth: 100, length: 5_000 };

const MOST_PARTS = 200;
const LONGEST_ENUM = 100;
const LONGEST_PATTERN = 200;
const MOST_KEY_PATTERNS = 3;

const TEXTS = new Set(['title', 'description', '$comment', '$schema', '$id', 'default', 'examples', 'deprecated']);
const SCALARS = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength', 'minItems'],
  ...['maxItems', 'minProperties', 'maxProperties', 'format', 'readOnly', 'writeOnly'],
]);
const remembered = new WeakMap<object, boolean>();

/**
 * Returns whether checking a value against a schema takes time in proportion to both: each part of the value is checked
 * against each part of the schema once. References, alternatives, `uniqueItems` and long keywords can take more.
 */
export function isPlainSchema(schema: Json): boolean {
  if (typeof schema !== 'object' || schema === null) return true;
  let plain = remembered.get(schema);
  if (plain === undefined) {
    plain = isPlain(schema, { left: MOST_PARTS });
    remembered.set(schema, plain);
  }
  return plain;
}

function isPlain(schema: Json | undefined, parts: { left: number }): boolean {
  parts.left -= 1;
  if (parts.left < 0) return false;
  if (!isObject(schema)) return true;
  return Object.entries(schema).every(([keyword, value]) => {
    if (TEXTS.has(keyword)) return true;
    if (SCALARS.has(keyword)) return typeof value !== 'object';
    switch (keyword) {
      case 'type':
      case 'required':
      case 'enum':
        return (
          !Array.isArray(value) || (value.length <= LONGEST_ENUM && value.every((item) => typeof item !== 'object'))
        );
      case 'const':
        return typeof value !== 'object';
      case 'pattern':
        return typeof value === 'string' && isShort(value);
      case 'properties':
        return isObject(value) && Object.values(value).every((each) => isPlain(each, parts));
      case 'patternProperties':
        return (
          isObject(value) &&
          Object.keys(value).length <= MOST_KEY_PATTERNS &&
          Object.entries(value).every(([pattern, each]) => isShort(pattern) && isPlain(each, parts))
        );
      case 'items':
      case 'additionalProperties':
      case 'propertyNames':
        return isPlain(value, parts);
      default:
        return false;
    }
  });
}

/** Returns whether a pattern compiles to a short program. A repetition such as {1,500} makes the program 500 times longer. */
function isShort(pattern: string): boolean {
  const counts = [...pattern.matchAll(/\{(\d*)(?:,(\d*))?\}/g)].map(([, from, to]) => Number(to || from || 1));
  return counts.reduce((length, count) => length * Math.max(count, 1), pattern.length) <= LONGEST_PATTERN;
}
