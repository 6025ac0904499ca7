import { exceeds } from '../json.js';
import type { Caller, Evaluate, Json } from '../types.js';
import { readProgram } from './allowed.js';
import { ExpressionError } from './error.js';
import { evaluatePlain } from './plain.js';
import { type Answer, startThread, type Thread } from './thread.js';

const DEEPEST = 250;
const LONGEST_INPUT = 16_000_000;
const LONGEST_OUTPUT = 4_000_000;
const COMPILE_ERROR = 3;

export interface ExpressionPool {
  evaluate: Evaluate;
  /** Ends the threads. Evaluations still under way, and later ones, are rejected with an ordinary `Error`. */
  close(): Promise<void>;
}

/**
 * jq in worker threads (design §5.2). No thread exists before the first program that needs one, and an idle pool lets
 * the process end. A program gets `timeoutMilliseconds` (250) of wall time; because a busy machine can starve a thread,
 * it gets a second chance of four times that on a new thread before it fails. `evaluate` throws `ExpressionError` for
 * whatever the program did wrong: a syntax or run-time error, a refused function, too much time, not exactly one result.
 */
export function createExpressionPool(options: { size?: number; timeoutMilliseconds?: number } = {}): ExpressionPool {
  const size = options.size ?? 2;
  const limit = options.timeoutMilliseconds ?? 250;
  const idle: Thread[] = [];
  const waiting: { give(thread: Thread): void; refuse(error: unknown): void }[] = [];
  const busy = new Set<Thread>();
  let threads = 0;
  let closed = false;

  const closedError = () => new Error('the expression pool is closed');

  async function take(): Promise<Thread> {
    if (closed) throw closedError();
    const thread = idle.pop();
    if (thread) return thread;
    if (threads >= size) return await new Promise<Thread>((give, refuse) => waiting.push({ give, refuse }));
    return await open();
  }

  async function open(): Promise<Thread> {
    threads += 1;
    try {
      const thread = await startThread();
      if (!closed) return thread;
      await thread.end();
      throw closedError();
    } catch (error) {
      threads -= 1;
      // Whoever waits for this thread would wait for ever.
      if (threads === 0) for (const { refuse } of waiting.splice(0)) refuse(error);
      throw error;
    }
  }

  function giveBack(thread: Thread): void {
    const next = waiting.shift();
    if (next) next.give(thread);
    else idle.push(thread);
  }

  function replace(thread: Thread): void {
    threads -= 1;
    void thread.end();
    const next = waiting.shift();
    if (next) open().then(next.give, next.refuse);
  }

  async function runOnce(program: string, input: string, timeout: number, caller?: Caller): Promise<Checked> {
    const thread = await take();
    busy.add(thread);
    const given = await thread.run(program, input, timeout);
    caller?.spend?.('milliseconds' in given ? given.milliseconds : timeout);
    const answer = checkOutput(given);
    busy.delete(thread);
    if (closed) throw closedError();
    if (answer.is === 'timeout' || answer.is === 'broken') replace(thread);
    else giveBack(thread);
    return answer;
  }

  const evaluate: Evaluate = async (expression, input, args, caller) => {
    const plain = evaluatePlain(expression, input, args);
    if (plain !== undefined) return plain;
    const { program, json } = prepare(expression, input, args);
    let answer = await runOnce(program, json, limit, caller);
    if (answer.is === 'timeout') answer = await runOnce(program, json, limit * 4, caller);
    return read(answer);
  };

  return {
    evaluate,
    async close() {
      closed = true;
      for (const { refuse } of waiting.splice(0)) refuse(closedError());
      await Promise.all([...idle.splice(0), ...busy].map((thread) => thread.end()));
    },
  };
}

/** Puts the input and only those arguments that the program uses into one document, and binds them in the program. */
function prepare(expression: string, input: Json, args: { [name: string]: Json }): { program: string; json: string } {
  const used: { [name: string]: Json } = {};
  let bindings = '';
  for (const name of readProgram(expression).variables) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if (value === undefined) throw new ExpressionError('ERR_EXPRESSION_FAILED', `$${name} is not defined here`);
    used[name] = value;
    bindings += `.a["${name}"] as $${name} | `;
  }
  const whole = { i: input, a: used };
  const excess = exceeds(whole, { depth: DEEPEST, length: LONGEST_INPUT });
  if (excess === 'depth') {
    throw new ExpressionError('ERR_EXPRESSION_TOO_DEEP', `the input nests deeper than ${DEEPEST - 2} levels`);
  }
  if (excess === 'length') throw new ExpressionError('ERR_EXPRESSION_TOO_LONG', 'the input is too long');
  return { program: `${bindings}.i | ${expression}`, json: JSON.stringify(whole) };
}

type Checked = Exclude<Answer, { is: 'output' }> | { is: 'results'; values: Json[] } | { is: 'too long' };

/** Output that is not JSON means that jq broke without noticing, so its thread must go as well. */
function checkOutput(answer: Answer): Checked {
  if (answer.is !== 'output') return answer;
  if (answer.text.length > LONGEST_OUTPUT) return { is: 'too long' };
  try {
    const lines = answer.text.split('\n').filter((line) => line !== '');
    return { is: 'results', values: lines.map((line) => JSON.parse(line) as Json) };
  } catch {
    return { is: 'broken' };
  }
}

function read(answer: Checked): Json {
  if (answer.is === 'timeout') throw new ExpressionError('ERR_EXPRESSION_TIMEOUT', 'the expression took too long');
  if (answer.is === 'broken') throw new ExpressionError('ERR_EXPRESSION_FAILED', 'the expression was too much for jq');
  if (answer.is === 'too long') throw new ExpressionError('ERR_EXPRESSION_RESULT', 'the result is too long');
  if (answer.is === 'failed') {
    const code = answer.exitCode === COMPILE_ERROR ? 'ERR_EXPRESSION_SYNTAX' : 'ERR_EXPRESSION_FAILED';
    throw new ExpressionError(code, readableMessage(answer.message));
  }
  const [value] = answer.values;
  if (value === undefined) throw new ExpressionError('ERR_EXPRESSION_RESULT', 'the expression gave no result');
  if (answer.values.length > 1)
    throw new ExpressionError('ERR_EXPRESSION_RESULT', 'the expression gave more than one result');
  return value;
}

/** jq's message without the data it quotes, which may be anything the workflow holds. */
function readableMessage(message: string): string {
  const found = /jq: error(?: \(at [^)]*\))?(?: \(not a string\))?: (.*)/.exec(message)?.[1] ?? 'the expression failed';
  if (!/^(Cannot|syntax error|[a-z]+ \(.*\) (and|cannot)|\$?[\w/]+ is not defined|.*cannot be)/.test(found)) {
    return 'the expression failed';
  }
  return found
    .replace(/ \(.*\)( and [a-z]+)/, '$1')
    .replace(/ \(.*\)/g, '')
    .replace(/ "[^"]*"/g, '')
    .replace(/ at <top-level>.*/, '')
    .slice(0, 200);
}
