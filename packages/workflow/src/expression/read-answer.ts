import { InexactNumber, parseExactly } from '@belay/contract/exact-json';
import { cutText, toStorable } from '@belay/contract/text';
import type { Json } from '../types.js';
import { ExpressionError, ExpressionOutage } from './error.js';
import type { Result } from './thread.js';

const COMPILE_ERROR = 3;
const LONGEST_MESSAGE = 200;

/** The outcome of a program, with at most two values: enough to tell one value from several. */
export type Read = Exclude<Result, { is: 'output' }> | { is: 'values'; values: Json[] };

/** Reads a thread's output. When the output is not JSON, jq itself failed. */
export function readOutput(result: Result): Read {
  if (result.is !== 'output') return result;
  try {
    const lines = result.text.split('\n').filter((line) => line !== '');
    return { is: 'values', values: lines.map((line) => parseExactly(line) as Json) };
  } catch (error) {
    if (!(error instanceof InexactNumber)) return { is: 'broken' };
    // jq keeps the digits of a number that it only passes on.
    return { is: 'failed', exitCode: 0, message: `the result ${error.message}`, own: true };
  }
}

/**
 * Returns the one value of a program. Throws `ExpressionError`, or `ExpressionOutage` when the program did not get its
 * processor time.
 */
export function readValue(read: Read): Json {
  switch (read.is) {
    case 'values': {
      const [value] = read.values;
      if (value === undefined) throw new ExpressionError('ERR_EXPRESSION_RESULT', 'the expression gave no result');
      if (read.values.length === 1) return value;
      throw new ExpressionError('ERR_EXPRESSION_RESULT', 'the expression gave more than one result');
    }
    case 'failed': {
      if (read.own)
        throw new ExpressionError('ERR_EXPRESSION_FAILED', cutText(toStorable(read.message), LONGEST_MESSAGE));
      const code = read.exitCode === COMPILE_ERROR ? 'ERR_EXPRESSION_SYNTAX' : 'ERR_EXPRESSION_FAILED';
      throw new ExpressionError(code, readableMessage(read.message));
    }
    case 'exceeded':
      if (read.what === 'output') throw new ExpressionError('ERR_EXPRESSION_RESULT', 'the result is too long');
      throw new ExpressionError('ERR_EXPRESSION_FAILED', 'the expression uses too much memory');
    case 'broken':
      throw new ExpressionError('ERR_EXPRESSION_FAILED', 'the expression is too large for jq');
    case 'timeout':
      throw new ExpressionError('ERR_EXPRESSION_TIMEOUT', 'the expression took too long');
    case 'starved':
      throw new ExpressionOutage('expressions do not get enough processor time');
  }
}

/** Returns jq's message without the data that it quotes, which may be any data of the workflow. */
function readableMessage(message: string): string {
  const [found = ''] = message.split('\n');
  if (!/^(Cannot|syntax error|[a-z]+ \(.*\) (and|cannot)|\$?[\w/]+ is not defined|.*cannot be)/.test(found)) {
    return 'the expression failed';
  }
  return found
    .replace(/ \(.*\)( and [a-z]+)/, '$1')
    .replace(/ \(.*\)/g, '')
    .replace(/ ".*/s, '')
    .replace(/ at <top-level>.*/, '')
    .slice(0, LONGEST_MESSAGE);
}

/** Returns jq's message about a program that does not compile, without the program, which jq repeats in it. */
export function syntaxMessage(message: string): string {
  const [found = ''] = message.replace(/^jq: error: /, '').split('\n');
  return (
    cutText(found.replace(/ \(Unix shell quoting issues\?\)/, '').replace(/ at <top-level>.*/, ''), LONGEST_MESSAGE) ||
    'it does not compile'
  );
}
