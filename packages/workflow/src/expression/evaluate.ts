import { isObject } from '../json.js';
import type { Evaluate, Json } from '../types.js';
import { evaluatePlain } from './plain.js';
import { programOf, readTemplate } from './template.js';

/** What an expression sees: `.`, the named arguments, and the evaluator for programs that are not plain. */
export interface Sight {
  input: Json;
  args: { [name: string]: Json };
  evaluate: Evaluate;
}

/**
 * Returns the value of one program: directly when it is a path or a literal, by jq otherwise. Throws
 * `ExpressionError`.
 */
async function evaluateProgram(program: string, sight: Sight): Promise<Json> {
  const plain = evaluatePlain(program, sight.input, sight.args);
  return plain === undefined ? await sight.evaluate(program, sight.input, sight.args) : plain;
}

/** Returns the value of a place that is always an expression, with or without `${ }`. Throws `ExpressionError`. */
export async function evaluateAlways(text: string, sight: Sight): Promise<Json> {
  return await evaluateProgram(programOf(text), sight);
}

/** Returns whether a condition is true, in jq's sense: any value but `false` and `null`. Throws `ExpressionError`. */
export async function evaluateCondition(text: string, sight: Sight): Promise<boolean> {
  const value = await evaluateAlways(text, sight);
  return value !== false && value !== null;
}

/** Returns a value of the definition in which every `${ }` is replaced by its result. Throws `ExpressionError`. */
export async function evaluateValue(value: Json, sight: Sight): Promise<Json> {
  if (typeof value === 'string') return await evaluateText(value, sight);
  if (Array.isArray(value)) {
    const items: Json[] = [];
    for (const item of value) items.push(await evaluateValue(item, sight));
    return items;
  }
  if (!isObject(value)) return value;
  const entries: [string, Json][] = [];
  for (const [key, item] of Object.entries(value)) entries.push([key, await evaluateValue(item, sight)]);
  return Object.fromEntries(entries);
}

/**
 * Returns the result of a `from` or an `as`: a string is always an expression, an object is a value that may contain
 * expressions. Throws `ExpressionError`.
 */
export async function evaluateTransform(value: Json, sight: Sight): Promise<Json> {
  return typeof value === 'string' ? await evaluateAlways(value, sight) : await evaluateValue(value, sight);
}

async function evaluateText(text: string, sight: Sight): Promise<Json> {
  const template = readTemplate(text);
  if (template.is === 'literal') return text;
  if (template.is === 'expression') return await evaluateProgram(template.program, sight);
  let result = '';
  for (const part of template.parts) {
    if (typeof part === 'string') {
      result += part;
    } else {
      const value = await evaluateProgram(part.program, sight);
      result += typeof value === 'string' ? value : JSON.stringify(value);
    }
  }
  return result;
}
