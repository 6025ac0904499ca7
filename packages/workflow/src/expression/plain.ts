import { isEqual, isObject } from '../json.js';
import type { Json } from '../types.js';
import { readProgram } from './allowed.js';
import { ExpressionError } from './error.js';
import type { Token } from './lex.js';

/** A program simple enough to need no jq: a path, a literal, or a comparison of two of these. */
type Plain = Operand | { equal: boolean; left: Operand; right: Operand };

/** The start of a path, and the steps from there. */
interface Operand {
  from: { is: 'input' } | { is: 'variable'; name: string } | { is: 'value'; value: Json };
  path: (string | number)[];
}

const known = new WeakMap<Token[], Plain | null>();

/**
 * Evaluates paths and literals (`.a.b[0]`, `$context.x`, `"text"`, `42`), and comparisons of two of those by `==` and
 * `!=`, as jq would, about a hundred times faster. Returns undefined when the program needs jq. Throws
 * `ExpressionError`, for errors in the program's text too.
 */
export function evaluatePlain(text: string, input: Json, args: { [name: string]: Json }): Json | undefined {
  const { tokens } = readProgram(text);
  let plain = known.get(tokens);
  if (plain === undefined) {
    plain = readPlain(tokens);
    known.set(tokens, plain);
  }
  if (!plain) return undefined;
  if ('from' in plain) return follow(plain, input, args);
  return isEqual(follow(plain.left, input, args), follow(plain.right, input, args)) === plain.equal;
}

function readPlain(tokens: Token[]): Plain | null {
  const at = tokens.findIndex((token) => token.type === 'symbol' && (token.text === '==' || token.text === '!='));
  if (at === -1) return readOperand(tokens);
  const left = readOperand(tokens.slice(0, at));
  const right = readOperand(tokens.slice(at + 1));
  return left && right ? { equal: tokens[at]?.text === '==', left, right } : null;
}

function follow(operand: Operand, input: Json, args: { [name: string]: Json }): Json {
  let value = start(operand, input, args);
  for (const step of operand.path) value = index(value, step);
  return value;
}

function start({ from }: Operand, input: Json, args: { [name: string]: Json }): Json {
  if (from.is === 'input') return input;
  if (from.is === 'value') return from.value;
  const value = Object.hasOwn(args, from.name) ? args[from.name] : undefined;
  if (value === undefined) throw new ExpressionError('ERR_EXPRESSION_FAILED', `$${from.name} is not defined here`);
  return value;
}

function index(value: Json, step: string | number): Json {
  if (value === null) return null;
  if (typeof step === 'string' && isObject(value)) return Object.hasOwn(value, step) ? (value[step] ?? null) : null;
  if (typeof step === 'number' && Array.isArray(value)) return value.at(step) ?? null;
  const kind = Array.isArray(value) ? 'array' : typeof value;
  throw new ExpressionError('ERR_EXPRESSION_FAILED', `cannot index ${kind} with ${JSON.stringify(step)}`);
}

function readOperand(tokens: Token[]): Operand | null {
  const [first, ...rest] = tokens;
  if (!first) return null;
  if (first.type === 'symbol' && first.text === '.') return withPath({ is: 'input' }, rest, true);
  if (first.type === 'field') return withPath({ is: 'input' }, tokens, false);
  if (first.type === 'variable' && first.value !== '__loc__') {
    return withPath({ is: 'variable', name: first.value ?? '' }, rest, false);
  }
  const value = literal(tokens);
  return value === undefined ? null : { from: { is: 'value', value }, path: [] };
}

function literal(tokens: Token[]): Json | undefined {
  const text = tokens.map((token) => token.text).join('');
  if (tokens.length === 1) {
    const [token] = tokens;
    if (token?.type === 'string') return token.value;
    if (token?.type === 'word') return { true: true, false: false, null: null }[text];
  }
  // jq keeps the digits of longer numbers, so those are left to jq.
  if (tokens.length <= 2 && /^-?[0-9]{1,15}$/.test(text)) return Number(text) + 0;
  if (text === '[]') return [];
  if (text === '{}') return {};
  return undefined;
}

/** Reads `.name`, `."name"`, `["name"]`, `[0]` and `[-1]`; returns null for anything else. */
function withPath(from: Operand['from'], tokens: Token[], afterDot: boolean): Operand | null {
  const path: (string | number)[] = [];
  let dot = afterDot;
  for (let at = 0; at < tokens.length; ) {
    const [one, two, three, four] = tokens.slice(at, at + 4);
    if (one?.type === 'field' && !dot) {
      path.push(one.value ?? '');
      at += 1;
    } else if (one?.type === 'string' && one.value !== undefined && dot) {
      path.push(one.value);
      at += 1;
    } else if (
      one?.text === '.' &&
      one.type === 'symbol' &&
      two?.type === 'string' &&
      two.value !== undefined &&
      !dot
    ) {
      path.push(two.value);
      at += 2;
    } else if (one?.text === '[' && two?.type === 'string' && two.value !== undefined && three?.text === ']') {
      path.push(two.value);
      at += 3;
    } else if (one?.text === '[' && two?.type === 'number' && /^[0-9]{1,9}$/.test(two.text) && three?.text === ']') {
      path.push(Number(two.text));
      at += 3;
    } else if (one?.text === '[' && two?.text === '-' && three?.type === 'number' && four?.text === ']') {
      if (!/^[0-9]{1,9}$/.test(three.text)) return null;
      path.push(-Number(three.text));
      at += 4;
    } else {
      return null;
    }
    dot = false;
  }
  return { from, path };
}
