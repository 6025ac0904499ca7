import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { collectMemory } from '../../../test/support/collect-memory.js';
import { within } from '../src/within.js';

describe('a signal with a time limit', () => {
  let collecting: Disposable;
  beforeEach(() => {
    collecting = collectMemory();
  });
  afterEach(() => collecting[Symbol.dispose]());
  const never = () => new AbortController().signal;
  const aborted = (signal: AbortSignal) =>
    new Promise<unknown>((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }));

  it('aborts at its time, even when memory is collected meanwhile', async () => {
    expect(await aborted(within(never(), 300))).toMatchObject({ name: 'TimeoutError' });
  });

  it('aborts with the first of several nested limits, and with those around a plain timeout', async () => {
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
