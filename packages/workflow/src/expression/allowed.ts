import { ExpressionError } from './error.js';
import { lex, type Token } from './lex.js';

/**
 * What jq can do and a workflow may not: read the environment, other input or the clock, load modules, print, or stop
 * jq.
 */
const REFUSED = new Set([
  'env',
  'input',
  'inputs',
  'input_line_number',
  'input_filename',
  'debug',
  'stderr',
  'include',
  'import',
  'modulemeta',
  'get_search_list',
  'get_jq_origin',
  'get_prog_origin',
  'halt',
  'halt_error',
  'now',
  'localtime',
  'strflocaltime',
]);
const REFUSED_VARIABLES = new Set(['ENV', '__prog_args']);
const LIMIT = 5000;
const known = new Map<string, Program | ExpressionError>();

/** A jq program that may run: its tokens, and its free variables. */
export interface Program {
  tokens: Token[];
  variables: string[];
}

/**
 * Checks a jq program by its tokens, so that `.input`, `$input`, `{env: 1}` and `"env"` are allowed and `env` is not.
 * Throws `ExpressionError` (syntax error, not allowed).
 */
export function readProgram(text: string): Program {
  let found = known.get(text);
  if (!found) {
    found = inspect(text);
    if (known.size >= LIMIT) known.clear();
    known.set(text, found);
  }
  if (found instanceof ExpressionError) throw found;
  return found;
}

function inspect(text: string): Program | ExpressionError {
  try {
    const { tokens } = lex(text);
    if (tokens.length === 0) throw new ExpressionError('ERR_EXPRESSION_SYNTAX', 'an expression must not be empty');
    refuse(tokens);
    return { tokens, variables: freeVariables(tokens) };
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
}

function refuse(tokens: Token[]): void {
  const open: string[] = [];
  tokens.forEach((token, index) => {
    if (token.type === 'symbol') {
      if (token.text === '(' || token.text === '[' || token.text === '{') open.push(token.text);
      if (token.text === ')' || token.text === ']' || token.text === '}') open.pop();
    }
    if (token.type === 'variable' && (REFUSED_VARIABLES.has(token.value ?? '') || token.text.includes('::'))) {
      throw new ExpressionError('ERR_EXPRESSION_REFUSED', `${token.text} is not allowed in a workflow`);
    }
    if (token.type !== 'word') return;
    const before = tokens[index - 1];
    const isKey = open.at(-1) === '{' && before?.type === 'symbol' && (before.text === '{' || before.text === ',');
    if (!isKey && (REFUSED.has(token.text) || token.text.includes('::'))) {
      throw new ExpressionError('ERR_EXPRESSION_REFUSED', `${token.text} is not allowed in a workflow`);
    }
  });
}

/** Returns the variables that a program uses without binding them with `as`, `label` or a function's parameters. */
function freeVariables(tokens: Token[]): string[] {
  const used = new Set<string>();
  const bound = new Set<string>(['__loc__']);
  let binding: 'pattern' | 'parameters' | 'label' | null = null;
  let depth = 0;
  for (const token of tokens) {
    if (token.type === 'word' && token.text === 'as') {
      binding = 'pattern';
      depth = 0;
    } else if (token.type === 'word' && token.text === 'def') {
      binding = 'parameters';
    } else if (token.type === 'word' && (token.text === 'label' || token.text === 'break')) {
      binding = 'label';
    } else if (token.type === 'variable') {
      (binding ? bound : used).add(token.value ?? '');
      if (binding === 'label') binding = null;
    } else if (token.type === 'symbol') {
      if (token.text === '[' || token.text === '{') depth += 1;
      if (token.text === ']' || token.text === '}') depth -= 1;
      if (binding === 'pattern' && depth === 0 && (token.text === '|' || token.text === '(')) binding = null;
      if (binding === 'parameters' && token.text === ':') binding = null;
    }
  }
  return [...used].filter((name) => !bound.has(name));
}
