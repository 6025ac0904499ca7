import { isStorable } from '@belay/contract/text';
import { invalidValue, ScimError } from './errors.js';

/** A JSON object of a request; names of attributes are compared without case (RFC 7643, 2.1). */
export type Body = Record<string, unknown>;

/** Returns a value that is a JSON object. Throws 400 for any other value. */
export function toBody(value: unknown, name: string): Body {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ScimError(400, `${name}: must be a JSON object`, 'invalidSyntax');
  }
  return value as Body;
}

/** Returns the value of an attribute; undefined when it is absent. Throws 400 when it is present twice. */
export function fieldOf(body: Body, name: string): unknown {
  const keys = Object.keys(body).filter((key) => key.toLowerCase() === name.toLowerCase());
  if (keys.length > 1) throw invalidValue(name, 'is given more than once, in different cases');
  return keys[0] === undefined ? undefined : body[keys[0]];
}

/**
 * Returns a value that is a text; null when it is absent. Throws 400 for other values, and for a text that has more
 * than `longest` characters or cannot be stored.
 */
export function textOf(value: unknown, name: string, longest: number): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw invalidValue(name, 'must be a string');
  if (value.length > longest) throw invalidValue(name, `must have at most ${longest} characters`);
  if (!isStorable(value)) throw invalidValue(name, 'contains characters that cannot be stored');
  return value;
}

/** Returns a value as a list: a single value becomes a list of one, and null an empty list. */
export function listOf(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/**
 * Returns whether a person is active: a JSON boolean, or its text in any case (Microsoft Entra ID sends "False"). Each
 * of these is also accepted as the only entry of a list, alone or as the `value` of an object. Throws 400 for any other
 * value, which might have been meant as a deactivation.
 */
export function activeOf(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  if (Array.isArray(value) && value.length === 1) {
    const [only] = value as unknown[];
    if (typeof only !== 'object' || only === null) return activeOf(Array.isArray(only) ? null : only);
    const inner = fieldOf(only as Body, 'value');
    return activeOf(typeof inner === 'object' ? null : inner);
  }
  throw invalidValue('active', 'must be true or false');
}
