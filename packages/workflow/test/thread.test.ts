import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ExpressionOutage } from '../src/expression/error.js';
import { readOutput, readValue } from '../src/expression/read-answer.js';
import { startThread, type Thread } from '../src/expression/thread.js';
import { createThreadPool } from '../src/expression/thread-pool.js';

/** More processor time than any of these programs needs. */
const limit = 20_000;

describe('a thread with jq', () => {
  let thread: Thread;
  beforeEach(async () => {
    thread = await startThread('jq');
  });
  afterEach(() => thread.end());
  const run = (program: string, raises = false) => thread.run({ program, input: 'null', raises }, limit);

  it('sends no more of the results than tells one from several', async () => {
    const { result } = await run('range(100000)');
    expect(result).toEqual({ is: 'output', text: '0\n1\n' });
  });

  it.each(['"a" * 5e6', '1, 2, "a" * 5e6'])(
    'stops a program at so much output, and is not used again: %s',
    async (program) => {
      const { result, spoilt } = await run(program);
      expect({ result, spoilt }).toEqual({ result: { is: 'exceeded', what: 'output' }, spoilt: true });
      expect(() => readValue(readOutput(result))).toThrow(
        expect.objectContaining({ code: 'ERR_EXPRESSION_RESULT', message: 'the result is too long' }),
      );
    },
  );

  it('is not used again after a program that took much memory, which WebAssembly does not give back', async () => {
    expect(await run('"a" * 1e3 | length')).toMatchObject({ result: { text: '1000\n' }, spoilt: false });
    expect(await run('"a" * 6e7 | length')).toMatchObject({ result: { text: '60000000\n' }, spoilt: true });
  });

  it.each([
    ['raises', '"a" * 1e6 | error', true],
    ['quotes', '"a" * 1e6 | tonumber', false],
  ])('sends a bounded part of an error that a program %s', async (_, program, raises) => {
    const { result } = await run(program, raises);
    expect(result.is === 'failed' && result.message.length).toBeGreaterThan(0);
    expect(result.is === 'failed' && result.message.length).toBeLessThanOrEqual(4_000);
  });

  // Only Linux has priorities of threads.
  it.runIf(process.platform === 'linux')(
    'leaves the processor to the threads of the process that want it',
    async () => {
      const threads = () => readdirSync('/proc/self/task');
      const before = new Set(threads());
      const another = await startThread('jq');
      const priorities = threads().flatMap((one) => (before.has(one) ? [] : [getPriority(Number(one))]));
      await another.end();
      expect(priorities).toContain(3);
      expect(getPriority(process.pid)).toBe(0);
    },
  );
});

describe('a thread that gets little of the processor', () => {
  const endless = 'last(repeat(1))';
  /** Opens a pool whose thread gets `share` milliseconds of processor time per millisecond waited. `time` counts the wait. */
  function openPool(share: number) {
    const time = { waited: 0, looks: 0 };
    const clock = Object.assign(() => time.waited * share, { exact: true, close() {} });
    const after = (milliseconds: number, look: () => void) => {
      const next = setImmediate(() => {
        time.waited += milliseconds;
        time.looks += 1;
        look();
      });
      return () => clearImmediate(next);
    };
    const pool = createThreadPool({ does: 'jq', size: 1, limit: 250, time: { openClock: () => clock, after } });
    const run = (program: string) => pool.run('', program, () => ({ program, input: 'null', raises: false }));
    return { time, run, [Symbol.asyncDispose]: () => pool.close() };
  }

  it('is given up as an outage, and not as a fault of its program, after a hundred times the limit', async () => {
    await using pool = openPool(0);
    const { read } = await pool.run(endless);
    expect(read).toEqual({ is: 'starved' });
    expect(() => readValue(read)).toThrow(ExpressionOutage);
    expect(pool.time.waited).toBe(25_000);
  });

  it('is waited for while it makes progress, until its program has used its limit', async () => {
    await using pool = openPool(1 / 90);
    const { read, milliseconds } = await pool.run(endless);
    expect(read).toEqual({ is: 'timeout' });
    expect(milliseconds).toBeGreaterThanOrEqual(250);
    expect(pool.time.waited).toBeGreaterThan(20_000);
  });
});
