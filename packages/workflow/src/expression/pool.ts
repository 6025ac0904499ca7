import { exceeds } from '../json.js';
import type { Evaluate, Json } from '../types.js';
import { readProgram } from './allowed.js';
import { ExpressionError } from './error.js';
import { evaluatePlain } from './plain.js';
import { readValue } from './read-answer.js';
import { createThreadPool } from './thread-pool.js';

const DEEPEST = 250;
const LONGEST_INPUT = 4_000_000;
/** Milliseconds of processor time that a program may take. */
const LIMIT = 250;

export interface ExpressionPool {
  evaluate: Evaluate;
  /** Stops the threads. Running, waiting and later evaluations that need a thread reject with an `ExpressionOutage`. */
  close(): Promise<void>;
}

/**
 * Creates a pool of worker threads with jq (docs/architecture.md, section 5). No thread exists before the first
 * program that needs one, and an idle pool lets the process end. A program gets 250 ms of processor time, which a busy
 * machine does not shorten. Executions take turns by the time that they have used. `evaluate` throws `ExpressionError`
 * for errors of the program: a syntax or run-time error, a function that is not allowed, too much time or memory, not
 * exactly one result. It throws `ExpressionOutage` when the pool cannot run the program now.
 */
export function createExpressionPool(options: { size?: number } = {}): ExpressionPool {
  const threads = createThreadPool({ does: 'jq', size: options.size ?? 2, limit: LIMIT });
  const evaluate: Evaluate = async (expression, input, args, caller) => {
    const plain = evaluatePlain(expression, input, args);
    if (plain !== undefined) return plain;
    const { read, milliseconds } = await threads.run(caller?.executionId ?? '', expression, () => {
      return prepare(expression, input, args);
    });
    caller?.spend?.(milliseconds);
    return readValue(read);
  };
  return { evaluate, close: threads.close };
}

/** Puts the input and only those arguments that the program uses into one document, and binds them in the program. */
function prepare(expression: string, input: Json, args: { [name: string]: Json }) {
  const used: { [name: string]: Json } = {};
  const { tokens, variables } = readProgram(expression);
  let bindings = '';
  for (const name of variables) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if (value === undefined) throw new ExpressionError('ERR_EXPRESSION_FAILED', `$${name} is not defined here`);
    used[name] = value;
    bindings += `.a["${name}"] as $${name} | `;
  }
  const whole = { i: input, a: used };
  const excess = exceeds(whole, { depth: DEEPEST, length: LONGEST_INPUT });
  if (excess === 'depth') {
    throw new ExpressionError('ERR_EXPRESSION_TOO_DEEP', `the input is nested deeper than ${DEEPEST - 2} levels`);
  }
  if (excess === 'length') throw new ExpressionError('ERR_EXPRESSION_TOO_LONG', 'the input is too long');
  return {
    program: `${bindings}.i | ${expression}`,
    input: JSON.stringify(whole),
    raises: tokens.some(({ type, text }) => type === 'word' && text === 'error'),
  };
}
