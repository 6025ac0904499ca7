import { ExpressionError } from './error.js';
import { lex } from './lex.js';

/** A string of the definition, split into literal text and expressions. */
export type Template =
  | { is: 'literal' }
  | { is: 'expression'; program: string }
  | { is: 'mixed'; parts: (string | { program: string })[] };

const LITERAL: Template = { is: 'literal' };
const LIMIT = 5000;
const known = new Map<string, Template | ExpressionError>();

/**
 * Splits a string at its `${ … }`. A string that consists of one expression has the value of that expression; text
 * around or between expressions makes it a string. Throws `ExpressionError` when a `${` is not closed, or its program
 * cannot be read.
 */
export function readTemplate(text: string): Template {
  if (!text.includes('${')) return LITERAL;
  let found = known.get(text);
  if (!found) {
    found = split(text);
    if (known.size >= LIMIT) known.clear();
    known.set(text, found);
  }
  if (found instanceof ExpressionError) throw found;
  return found;
}

function split(text: string): Template | ExpressionError {
  const parts: (string | { program: string })[] = [];
  let at = 0;
  try {
    for (let start = text.indexOf('${'); start !== -1; start = text.indexOf('${', at)) {
      if (start > at) parts.push(text.slice(at, start));
      const { end } = lex(text, start + 2, '}');
      parts.push({ program: text.slice(start + 2, end).trim() });
      at = end + 1;
    }
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
  if (at < text.length) parts.push(text.slice(at));
  const programs = parts.filter((part) => typeof part !== 'string');
  const around = parts.some((part) => typeof part === 'string' && part.trim() !== '');
  const only = programs[0];
  return programs.length === 1 && !around && only
    ? { is: 'expression', program: only.program }
    : { is: 'mixed', parts };
}

/**
 * Returns the program of a place that is always an expression (`when`, `as` …), where `${ }` may be omitted. Throws
 * `ExpressionError` when there is text around the expression.
 */
export function programOf(text: string): string {
  const template = readTemplate(text);
  if (template.is === 'literal') return text.trim();
  if (template.is === 'expression') return template.program;
  throw new ExpressionError('ERR_EXPRESSION_SYNTAX', 'text around an expression is not supported here');
}
