import type { Expression } from '../document/issues.js';
import type { Issue } from '../types.js';
import { readProgram } from './allowed.js';
import { ExpressionOutage } from './error.js';
import { syntaxMessage } from './read-answer.js';
import { type Result, startThread, type Thread } from './thread.js';

/**
 * How many programs jq compiles at a time, and the milliseconds of processor time for them; one program takes about 1 ms.
 */
const TOGETHER = 100;
const LIMIT = 5_000;
const LONGEST_SHOWN = 200;
const REMEMBERED = 20_000;
const known = new Set<string>();

/**
 * Compiles expressions with jq itself, without running them: an expression that is not valid jq is an issue at its
 * place. jq runs in its own thread, which is started only for expressions that were not compiled before. Throws
 * `ExpressionOutage` when that is not possible now.
 */
export async function compileExpressions(expressions: readonly Expression[]): Promise<Issue[]> {
  const unknown = expressions.filter(({ program }) => !known.has(program));
  if (unknown.length === 0) return [];
  let thread = await startCompiler();
  try {
    const issues: Issue[] = [];
    /** Runs a program, and replaces the thread when it must not be used again. */
    const run = async (program: string): Promise<Result> => {
      const { result, spoilt } = await thread.run({ program, input: 'null', raises: false }, LIMIT);
      if (spoilt) {
        await thread.end();
        thread = await startCompiler();
      }
      if (result.is === 'starved') throw new ExpressionOutage('expressions cannot be compiled at the moment');
      return result;
    };
    for (let at = 0; at < unknown.length; at += TOGETHER) {
      const some = unknown.slice(at, at + TOGETHER);
      const together = await run(some.map(({ program }) => `(${unused(program)}\n)`).join(','));
      if (together.is === 'output') {
        for (const { program } of some) remember(program);
        continue;
      }
      for (const expression of some) {
        const alone = await run(unused(expression.program));
        if (alone.is === 'output') remember(expression.program);
        else issues.push(issueOf(expression, alone));
      }
    }
    return issues;
  } finally {
    await thread.end();
  }
}

async function startCompiler(): Promise<Thread> {
  try {
    return await startThread('jq');
  } catch (error) {
    throw new ExpressionOutage('no thread could be started for expressions', { cause: error });
  }
}

/** Returns a program in a form that jq compiles and never runs, with its variables bound. */
function unused(program: string): string {
  const bindings = readProgram(program).variables.map((name) => `null as $${name} | `);
  return `${bindings.join('')}empty | ${program}`;
}

function remember(program: string): void {
  if (known.size >= REMEMBERED) known.clear();
  known.add(program);
}

function issueOf({ path, program }: Expression, result: Result): Issue {
  const shown = program.length > LONGEST_SHOWN ? `${program.slice(0, LONGEST_SHOWN)}…` : program;
  const why = result.is === 'failed' ? syntaxMessage(result.message) : 'it is too large for jq';
  return {
    code: 'ERR_EXPRESSION_SYNTAX',
    path,
    message: `the expression ${JSON.stringify(shown)} is not valid jq: ${why}`,
  };
}
