import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { within } from '../src/within.js';

describe('a signal with a time limit', { timeout: 10_000 }, () => {
  let collecting: NodeJS.Timeout;
  beforeEach(() => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    collecting = setInterval(collect, 10);
  });
  afterEach(() => clearInterval(collecting));
  const never = () => new AbortController().signal;
  const aborted = (signal: AbortSignal) =>
    new Promise<unknown>((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }));

  it('aborts at its time, however often memory is collected meanwhile', async () => {
    expect(await aborted(within(never(), 300))).toMatchObject({ name: 'TimeoutError' });
  });

  it('aborts with the first of several limits around one another, and with those around a plain timeout', async () => {
    expect(await aborted(within(within(never(), 300), 60_000))).toMatchObject({ name: 'TimeoutError' });
    expect(await aborted(within(AbortSignal.timeout(300), 60_000))).toMatchObject({ name: 'TimeoutError' });
  });

  it('aborts with the signal that it was given', async () => {
    const given = new AbortController();
    const both = aborted(within(given.signal, 60_000));
    given.abort('enough');
    expect(await both).toBe('enough');
  });
});
