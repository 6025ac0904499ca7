import { readProgram } from '../expression/allowed.js';
import { ExpressionError } from '../expression/error.js';
import { programOf, readTemplate } from '../expression/template.js';
import { isObject, pointerSegment } from '../json.js';
import type { Json } from '../types.js';
import type { Issues } from './issues.js';

const BEFORE_WORKFLOW = ['workflow', 'runtime'];
const BEFORE_TASK = [...BEFORE_WORKFLOW, 'context', 'task'];

/** The arguments that the DSL gives to an expression, by its place (dsl.md, "Runtime expression arguments"). */
export const ARGUMENTS = {
  workflowInput: BEFORE_WORKFLOW,
  workflowOutput: [...BEFORE_WORKFLOW, 'context'],
  taskInput: BEFORE_TASK,
  task: [...BEFORE_TASK, 'input'],
  taskExport: [...BEFORE_TASK, 'input', 'output'],
} as const;

/** Names that a loop or a catch may not use for its own variable. */
export const RESERVED = new Set([...ARGUMENTS.taskExport, 'secrets', 'authorization', 'ENV', '__loc__', '__prog_args']);

const NOT_BUILT = new Set(['secrets', 'authorization']);

/** Checks a value that is always an expression, with or without `${ }`. */
export function checkAlways(issues: Issues, path: string, text: string, names: readonly string[]): void {
  guard(issues, path, () => checkProgram(issues, path, programOf(text), names));
}

/** Checks every `${ }` inside a value. */
export function checkValue(issues: Issues, path: string, value: Json, names: readonly string[]): void {
  if (typeof value === 'string') {
    guard(issues, path, () => {
      const template = readTemplate(value);
      if (template.is === 'expression') checkProgram(issues, path, template.program, names);
      if (template.is === 'mixed') {
        for (const part of template.parts)
          if (typeof part !== 'string') checkProgram(issues, path, part.program, names);
      }
    });
  } else if (Array.isArray(value)) {
    value.forEach((item, index) => checkValue(issues, `${path}/${index}`, item, names));
  } else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) checkValue(issues, `${path}/${pointerSegment(key)}`, item, names);
  }
}

/** Checks a `from` or an `as`: a string is always an expression, an object may contain expressions. */
export function checkTransform(issues: Issues, path: string, value: Json, names: readonly string[]): void {
  if (typeof value === 'string') checkAlways(issues, path, value, names);
  else if (isObject(value)) checkValue(issues, path, value, names);
  else issues.add('ERR_INVALID', path, 'must be an expression or an object');
}

/** Returns whether a string of the definition is evaluated rather than used literally. */
export function isExpression(value: unknown): value is string {
  return typeof value === 'string' && value.includes('${');
}

function checkProgram(issues: Issues, path: string, program: string, names: readonly string[]): void {
  issues.expressions.push({ path, program });
  for (const variable of readProgram(program).variables) {
    if (names.includes(variable)) continue;
    if (NOT_BUILT.has(variable)) issues.add('ERR_UNSUPPORTED_ARGUMENT', path, `$${variable} is not supported`);
    else issues.add('ERR_EXPRESSION_VARIABLE', path, `$${variable} is not defined here`);
  }
}

function guard(issues: Issues, path: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    issues.add(error.code, path, error.message);
  }
}
