import { isExpression } from '../document/check-expressions.js';
import type { EventFilter } from '../document/definition.js';
import { ExpressionError } from '../expression/error.js';
import { evaluateAlways, evaluateValue, type Sight } from '../expression/evaluate.js';
import { isEqual, isObject } from '../json.js';
import type { CloudEvent, Json } from '../types.js';

/**
 * Returns whether an event passes a filter. A literal attribute must be equal; an expression sees the attribute as `.`
 * and returns true or false, or the value that the attribute must equal; an object in `data` is about the properties
 * that it names. The first value that a correlation without `expect` finds is kept in `expected`, for the whole task.
 * An expression that fails on an event does not match it, because anyone may send an event of any form.
 */
export async function matches(
  filter: EventFilter,
  event: CloudEvent,
  expected: { [name: string]: Json },
  sight: Sight,
): Promise<boolean> {
  try {
    for (const [name, pattern] of Object.entries(filter.with)) {
      const value = Object.hasOwn(event, name) ? (event[name] ?? null) : null;
      if (!(await fits(pattern, value, sight))) return false;
    }
    return await correlates(filter, event, expected, sight);
  } catch (error) {
    if (error instanceof ExpressionError) return false;
    throw error;
  }
}

async function fits(pattern: Json, value: Json, sight: Sight): Promise<boolean> {
  if (isExpression(pattern)) {
    const answer = await evaluateValue(pattern, { ...sight, input: value });
    return typeof answer === 'boolean' ? answer : isEqual(answer, value);
  }
  if (!isObject(pattern)) return isEqual(pattern, value);
  if (!isObject(value)) return false;
  for (const [name, inner] of Object.entries(pattern)) {
    const found = Object.hasOwn(value, name) ? (value[name] ?? null) : null;
    if (!(await fits(inner, found, sight))) return false;
  }
  return true;
}

async function correlates(
  filter: EventFilter,
  event: CloudEvent,
  expected: { [name: string]: Json },
  sight: Sight,
): Promise<boolean> {
  const found: { [name: string]: Json } = {};
  for (const [name, { from, expect }] of Object.entries(filter.correlate ?? {})) {
    const value = await evaluateAlways(from, { ...sight, input: event as unknown as Json });
    // An event without the value correlates with no execution, so it does not match this one.
    if (value === null) return false;
    if (expect !== undefined) {
      const wanted = await evaluateValue(expect, sight);
      const isText = !isExpression(expect) && typeof value !== 'object';
      if (isText ? String(value) !== wanted : !isEqual(value, wanted)) return false;
    } else if (Object.hasOwn(expected, name)) {
      if (!isEqual(value, expected[name])) return false;
    } else {
      found[name] = value;
    }
  }
  Object.assign(expected, found);
  return true;
}

/** Returns the attributes that a filter compares with literal values, except `data`. */
export function describeFilter(filter: EventFilter): Json {
  const words = Object.entries(filter.with).filter(([name, value]) => name !== 'data' && !isExpression(value));
  return Object.fromEntries(words);
}
