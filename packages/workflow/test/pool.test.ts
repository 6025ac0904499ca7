import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, it } from 'vitest';
import { createExpressionPool, ExpressionError, type Json } from '../src/index.js';

const pool = createExpressionPool({ size: 2 });
afterAll(() => pool.close());

const codeOf = async (program: string, input: Json = null, args: { [name: string]: Json } = {}): Promise<string> => {
  try {
    return `no error but ${JSON.stringify(await pool.evaluate(program, input, args))}`;
  } catch (error) {
    return error instanceof ExpressionError ? error.code : `not coded: ${error}`;
  }
};

describe('the expression pool', () => {
  it('evaluates with arguments, and hands jq only those the program uses', async () => {
    expect(await pool.evaluate('{a, b: ($x.y + $n)}', { a: 'é"\n' }, { x: { y: 1 }, n: 2, deep: nest(400) })).toEqual({
      a: 'é"\n',
      b: 3,
    });
    expect(await pool.evaluate('def f: . + 1; f', 1, {})).toBe(2);
    expect(await pool.evaluate('.a | "x: \\(.)"', { a: [1] }, {})).toBe('x: [1]');
  });

  it('says in codes what a program did wrong, and nothing of the data', async () => {
    expect(await codeOf('.a +')).toBe('ERR_EXPRESSION_SYNTAX');
    expect(await codeOf('nothing(1)')).toBe('ERR_EXPRESSION_SYNTAX');
    expect(await codeOf('1 + $missing')).toBe('ERR_EXPRESSION_FAILED');
    expect(await codeOf('"x" | error')).toBe('ERR_EXPRESSION_FAILED');
    expect(await codeOf('empty')).toBe('ERR_EXPRESSION_RESULT');
    expect(await codeOf('1, 2')).toBe('ERR_EXPRESSION_RESULT');
    expect(await codeOf('env | length')).toBe('ERR_EXPRESSION_REFUSED');
    for (const program of ['.a + 1', '.a | .[]', '.a | error', 'error', '.a | tonumber', '.a | {} + .']) {
      const message = await pool.evaluate(program, { a: 'hunter2' }, {}).catch((error: Error) => error.message);
      expect(message).toBeTypeOf('string');
      expect(message).not.toContain('hunter2');
    }
  });

  it.each([
    ['an endless program', 'last(repeat(1))', 'ERR_EXPRESSION_TIMEOUT'],
    ['an endless recursion', 'def f: 1 + f; f', 'ERR_EXPRESSION_'],
    ['a value too deep for jq', 'reduce range(60) as $i (0; [.])', 'ERR_EXPRESSION_'],
    ['a memory bomb', '[range(1e9)] | length', 'ERR_EXPRESSION_'],
    ['a text bomb', 'reduce range(60) as $i ("x"; . + .) | length', 'ERR_EXPRESSION_'],
  ])('ends %s, and answers the next one rightly', async (_what, program, code) => {
    expect(await codeOf(program)).toContain(code);
    expect(await Promise.all([1, 2, 3].map((n) => pool.evaluate('. + 1', n, {})))).toEqual([2, 3, 4]);
  });

  it('refuses input that nests too deep, whatever it is made of', async () => {
    expect(await codeOf('length', nest(300))).toBe('ERR_EXPRESSION_TOO_DEEP');
    expect(await codeOf('$x | length', null, { x: nest(300) })).toBe('ERR_EXPRESSION_TOO_DEEP');
    expect(await pool.evaluate('length', nest(200), {})).toBe(1);
  });

  it('is right 2,000 times in a row, many at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 2000 }, (_, n) => pool.evaluate('{n: (.n * 2), t: ("a" + $t)}', { n }, { t: String(n) })),
    );
    expect(answers).toEqual(Array.from({ length: 2000 }, (_, n) => ({ n: n * 2, t: `a${n}` })));
  });

  it('rejects, rather than hangs, when it is closed', async () => {
    const closing = createExpressionPool({ size: 1 });
    const pending = [closing.evaluate('last(repeat(1))', null, {}), closing.evaluate('. + 1', 1, {})];
    const settled = Promise.allSettled(pending);
    await closing.close();
    expect((await settled).map((each) => each.status)).toEqual(['rejected', 'rejected']);
    await expect(closing.evaluate('. + 1', 1, {})).rejects.toThrow('closed');
  });

  it('does not keep a process alive, and is waited for while it works', () => {
    const module = new URL('../dist/index.js', import.meta.url).href;
    const script = `
      const { createExpressionPool } = await import(${JSON.stringify(module)});
      console.log(await createExpressionPool().evaluate('. + 1', 1, {}));`;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: 15_000,
    });
    expect({ status: child.status, stdout: child.stdout }).toEqual({ status: 0, stdout: '2\n' });
  });
});

function nest(depth: number): Json {
  let value: Json = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}
