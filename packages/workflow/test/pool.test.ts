import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { createExpressionPool, ExpressionError, ExpressionOutage, type Json } from '../src/index.js';

const pool = createExpressionPool({ size: 2 });
afterAll(() => pool.close());

/** How many programs are tried. Each takes a few milliseconds of processor time, so `npm test` runs fewer. */
const many = process.env.CI ? 900 : 200;

const codeOf = async (program: string, input: Json = null, args: { [name: string]: Json } = {}): Promise<string> => {
  try {
    return `no error but ${JSON.stringify(await pool.evaluate(program, input, args))}`;
  } catch (error) {
    return error instanceof ExpressionError ? error.code : `not coded: ${error}`;
  }
};

describe('the expression pool', () => {
  it('evaluates with arguments, and gives jq only those that the program uses', async () => {
    expect(await pool.evaluate('{a, b: ($x.y + $n)}', { a: 'é"\n' }, { x: { y: 1 }, n: 2, deep: nest(400) })).toEqual({
      a: 'é"\n',
      b: 3,
    });
    expect(await pool.evaluate('def f: . + 1; f', 1, {})).toBe(2);
    expect(await pool.evaluate('.a | "x: \\(.)"', { a: [1] }, {})).toBe('x: [1]');
  });

  it('reports errors of a program as codes, without the data', async () => {
    expect(await codeOf('.a +')).toBe('ERR_EXPRESSION_SYNTAX');
    expect(await codeOf('nothing(1)')).toBe('ERR_EXPRESSION_SYNTAX');
    expect(await codeOf('1 + $missing')).toBe('ERR_EXPRESSION_FAILED');
    expect(await codeOf('empty')).toBe('ERR_EXPRESSION_RESULT');
    expect(await codeOf('1, 2')).toBe('ERR_EXPRESSION_RESULT');
    expect(await codeOf('env | length')).toBe('ERR_EXPRESSION_REFUSED');
    const quoting = [
      '.a + 1',
      '.a | .[]',
      '.a | tonumber',
      '.a | {} + .',
      'try error("x") catch .a',
      '[] | .[$x]',
      '.a | tojson | .[.]',
      '{} | test($x)',
    ];
    for (const program of [...quoting, 'error("x")?, (.a | tonumber)', '.a as $error | [] | .[$error]']) {
      const message = await pool
        .evaluate(program, { a: 'hunter2' }, { x: 'hunter2' })
        .catch((error: Error) => error.message);
      expect(message).toBeTypeOf('string');
      expect(message).not.toContain('hunter2');
    }
  });

  it.each([
    ['error("no such host")', 'no such host'],
    ['.a | error', 'hunter2'],
    ['try error("first") catch error("second: " + .)', 'second: first'],
    ['error({code: 4, list: [.a]})', '{"code":4,"list":["hunter2"]}'],
    ['error(null)', 'null'],
    ['error("line\none")', 'line\none'],
    ['error("é" * 150 + "x" * 100)', 'é'.repeat(150) + 'x'.repeat(50)],
    ['try error("mine") catch (.b | error)', 'Cannot index string with string'],
    ['def error(f): "other"; error("x") | tonumber', 'the expression failed'],
  ])('reports what a program itself passed to error: %s', async (program, message) => {
    await expect(pool.evaluate(program, { a: 'hunter2' }, {})).rejects.toMatchObject({
      code: 'ERR_EXPRESSION_FAILED',
      message,
    });
  });

  it.each([
    'def f: [f]; f',
    '[]|.[1000000000]=1',
    '[]|.[536870911]=1',
    'getpath(["a"] | .[0:0] + [range(100000) | tostring])',
    `${'['.repeat(3_000)}1${']'.repeat(3_000)}`,
    '"a" | [match("(a*)*b"; "g")] | [range(10000)] | implode | test("^(a+)+$")',
    '[1114112, 55296, -5] | implode',
    'label $f | break $f',
    '[range(300000)] | tojson | tojson | tojson',
    '("x" * 300000) | [splits("")] | length',
    '@base32d',
    'getpath(["\\u0000"])',
  ])('is correct after %s', async (program) => {
    expect(await codeOf(program)).toMatch(/^(ERR_EXPRESSION_|no error)/);
    expect(await Promise.all([1, 2, 3].map((n) => pool.evaluate('. + 1', n, {})))).toEqual([2, 3, 4]);
  });

  it('stops a program with too much output, and reports it', async () => {
    for (const program of ['"a" * 1e8 | error', '"a" * 5e6']) expect(await codeOf(program)).toMatch(/^ERR_EXPRESSION_/);
    expect(process.memoryUsage().rss).toBeLessThan(1_500_000_000);
  });

  it('lets an expression wait for one program of others, regardless of the number of endless ones', async () => {
    const busy = createExpressionPool({ size: 2 });
    const by = (executionId: string) => ({ executionId });
    await busy.evaluate('. + 1', 1, {}, by('warm'));
    let served = 0;
    const refused: unknown[] = [];
    const endless = Array.from({ length: 12 }, async (_, index) => {
      while (!(refused.at(-1) instanceof ExpressionOutage)) {
        await busy.evaluate('last(repeat(1))', null, {}, by(`endless ${index}`)).catch((error) => refused.push(error));
        served += 1;
      }
    });
    await vi.waitUntil(() => served >= 1, { timeout: 30_000 });
    // The bystander waits until one of the two running programs ends: each may use 250 ms of processor time.
    for (let n = 1; n <= (process.env.CI ? 5 : 2); n += 1) {
      const before = served;
      expect(await busy.evaluate('. + 1', n, {}, by('bystander'))).toBe(n + 1);
      expect(served - before).toBeLessThanOrEqual(3);
    }
    expect(refused[0]).toMatchObject({ code: 'ERR_EXPRESSION_TIMEOUT' });
    await busy.close();
    await Promise.all(endless);
  });

  it('takes turns by the time that executions have used', async () => {
    const one = createExpressionPool({ size: 1 });
    const order: string[] = [];
    const ask = async (executionId: string, program: string) => {
      await one.evaluate(program, null, {}, { executionId });
      order.push(executionId);
    };
    const long = '[limit(40000; repeat(1))] | length';
    await Promise.all([
      ...Array.from({ length: 6 }, () => ask('long', long)),
      ...Array.from({ length: 6 }, () => ask('short', '1 + 1')),
    ]);
    expect(order.slice(0, 8).filter((each) => each === 'short')).toHaveLength(6);
    await one.close();
  });

  it('rejects, as an outage, a program that would wait behind a thousand others', async () => {
    const full = createExpressionPool({ size: 1 });
    const first = full.evaluate('. + 1', 1, {});
    const waiting = Array.from({ length: 1_000 }, () => full.evaluate('. + 1', 1, {}));
    const settled = Promise.allSettled(waiting);
    const more = await Promise.allSettled(Array.from({ length: 200 }, () => full.evaluate('. + 1', 1, {})));
    for (const each of more) expect(each).toMatchObject({ reason: expect.any(ExpressionOutage) });
    // Waiting programs are still evaluated. Twenty of them are enough: a thousand would take five seconds.
    expect(await Promise.all([first, ...waiting.slice(0, 20)])).toEqual(Array.from({ length: 21 }, () => 2));
    await full.close();
    const reasons = (await settled).flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []));
    expect(reasons.filter((reason) => !reason.includes('the expression pool is closed'))).toEqual([]);
  });

  it.each([
    ['an endless program', 'last(repeat(1))', 'ERR_EXPRESSION_TIMEOUT'],
    ['an endless recursion', 'def f: 1 + f; f', 'ERR_EXPRESSION_'],
    ['a value too deep for jq', 'reduce range(60) as $i (0; [.])', 'ERR_EXPRESSION_'],
    ['endless results', 'range(1e9)', 'ERR_EXPRESSION_'],
    ['a memory bomb', '[range(1e9)]', 'ERR_EXPRESSION_'],
    ['a text bomb', 'reduce range(60) as $i ("x"; . + .) | length', 'ERR_EXPRESSION_'],
  ])('ends %s, and evaluates the next one correctly', async (_what, program, code) => {
    expect(await codeOf(program)).toContain(code);
    expect(process.memoryUsage().rss).toBeLessThan(1_500_000_000);
    expect(await Promise.all([1, 2, 3].map((n) => pool.evaluate('. + 1', n, {})))).toEqual([2, 3, 4]);
  });

  it('rejects input of any kind that is nested too deep', async () => {
    expect(await codeOf('length', nest(300))).toBe('ERR_EXPRESSION_TOO_DEEP');
    expect(await codeOf('$x | length', null, { x: nest(300) })).toBe('ERR_EXPRESSION_TOO_DEEP');
    expect(await pool.evaluate('length', nest(200), {})).toBe(1);
  });

  it('rejects what needs too much memory before the memory is taken, and not when its time is over', async () => {
    for (const program of ['"a" * 1e9', '"a" * 1e9 | length', 'reduce range(60) as $i ("x"; . + .) | length']) {
      await expect(pool.evaluate(program, null, {})).rejects.toThrow('the expression uses too much memory');
    }
    expect(process.memoryUsage().rss).toBeLessThan(1_500_000_000);
  });

  it('rejects input that is too long, with its arguments', async () => {
    const half = 'x'.repeat(2_100_000);
    expect(await codeOf('[.] | length', half)).toBe('no error but 1');
    expect(await codeOf('[., $x] | length', half, { x: half })).toBe('ERR_EXPRESSION_TOO_LONG');
    expect(await codeOf('[.] | length', `${half}${half}`)).toBe('ERR_EXPRESSION_TOO_LONG');
  });

  it(`is correct ${many} times in a row, many at the same time`, async () => {
    const answers = await Promise.all(
      Array.from({ length: many }, (_, n) => pool.evaluate('{n: (.n * 2), t: ("a" + $t)}', { n }, { t: String(n) })),
    );
    expect(answers).toEqual(Array.from({ length: many }, (_, n) => ({ n: n * 2, t: `a${n}` })));
  });

  it('rejects, rather than hangs, when it is closed', async () => {
    const closing = createExpressionPool({ size: 1 });
    const pending = [closing.evaluate('last(repeat(1))', null, {}), closing.evaluate('. + 1', 1, {})];
    const settled = Promise.allSettled(pending);
    await closing.close();
    expect((await settled).map((each) => each.status)).toEqual(['rejected', 'rejected']);
    await expect(closing.evaluate('. + 1', 1, {})).rejects.toThrow('closed');
  });

  it('does not keep a process alive, except while it works', () => {
    const module = new URL('../dist/index.js', import.meta.url).href;
    const script = `
      const { createExpressionPool } = await import(${JSON.stringify(module)});
      console.log(await createExpressionPool().evaluate('. + 1', 1, {}));`;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: 30_000,
    });
    expect({ status: child.status, stdout: child.stdout }).toEqual({ status: 0, stdout: '2\n' });
  });
});

function nest(depth: number): Json {
  let value: Json = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}
