import { describe, expect, it, vi } from 'vitest';
import { startSweeper } from '../src/sweeper.js';
import { recordLog, recordVerbs, testContext } from './support/context.js';

/** A delay that ends when the test says so, and remembers how long it was asked to be. */
function steppedDelay() {
  const asked: number[] = [];
  let go: (() => void) | null = null;
  return {
    asked,
    delay: (milliseconds: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        asked.push(milliseconds);
        go = resolve;
        signal?.addEventListener('abort', () => reject(signal.reason));
      }),
    async next(): Promise<void> {
      await vi.waitFor(() => expect(go).not.toBeNull(), { interval: 1 });
      go?.();
      go = null;
    },
  };
}

describe('the sweeper', () => {
  it('looks at once, and then at the interval give or take a quarter', async () => {
    const steps = steppedDelay();
    const verbs = recordVerbs();
    const sweeper = startSweeper(testContext(recordLog(), steps), { interval: 1_000, verbs });
    for (let pass = 0; pass < 50; pass += 1) await steps.next();
    await sweeper.stop();
    expect(verbs.sweeps).toBeGreaterThanOrEqual(50);
    expect(Math.min(...steps.asked)).toBeGreaterThanOrEqual(750);
    expect(Math.max(...steps.asked)).toBeLessThanOrEqual(1_250);
    expect(new Set(steps.asked).size).toBeGreaterThan(5);
  });

  it('follows a full pass with the next one soon', async () => {
    const steps = steppedDelay();
    const results = [
      { steps: 100, entitlements: 3 },
      { steps: 0, entitlements: 100 },
      { steps: 99, entitlements: 99 },
    ];
    const sweep = async () => results.shift() ?? { steps: 0, entitlements: 0 };
    const context = testContext(recordLog(), steps);
    const sweeper = startSweeper(context, { interval: 10_000, verbs: { ...recordVerbs(), sweep } });
    for (let pass = 0; pass < 2; pass += 1) await steps.next();
    await vi.waitFor(() => expect(steps.asked).toHaveLength(3), 20_000);
    await sweeper.stop();
    const [first = 0, second = 0, third = 0] = steps.asked;
    expect(Math.max(first, second)).toBeLessThan(1_000);
    expect(third).toBeGreaterThanOrEqual(7_500);
  });

  it('goes on after passes that failed, and tells of the outage once', async () => {
    const steps = steppedDelay();
    const log = recordLog();
    const verbs = recordVerbs();
    let down = true;
    const sweep = async () => {
      verbs.sweeps += 1;
      if (down) throw new Error('connection refused');
      return { steps: 0, entitlements: 0 };
    };
    const sweeper = startSweeper(testContext(log, steps), { interval: 1_000, verbs: { ...verbs, sweep } });
    for (let pass = 0; pass < 3; pass += 1) await steps.next();
    down = false;
    await steps.next();
    await vi.waitFor(() => expect(verbs.sweeps).toBe(5), 20_000);
    await vi.waitFor(() => expect(log.count('info', /back/)).toBe(1), 20_000);
    await sweeper.stop();
    expect(log.count('warn', /not reachable/)).toBe(1);
  });

  it('removes expired logins at the start and every five minutes', async () => {
    const steps = steppedDelay();
    let expired = 0;
    const expireLogins = async () => {
      expired += 1;
      return 0;
    };
    const context = testContext(recordLog(), steps);
    const sweeper = startSweeper(context, { interval: 60_000, verbs: { ...recordVerbs(), expireLogins } });
    let waited = 0;
    for (let pass = 0; pass < 30; pass += 1) {
      await vi.waitFor(() => expect(steps.asked).toHaveLength(pass + 1), { interval: 1 });
      waited += steps.asked[pass] ?? 0;
      await steps.next();
    }
    await sweeper.stop();
    const minutes = waited / 60_000;
    expect(expired).toBeGreaterThanOrEqual(Math.floor(minutes / 6.25));
    expect(expired).toBeLessThanOrEqual(1 + Math.ceil(minutes / 5));
  });

  it('never runs two passes at once, and waits for the last one when it stops', async () => {
    const steps = steppedDelay();
    let release = () => {};
    let finished = false;
    const verbs = recordVerbs();
    const sweep = async () => {
      verbs.sweeps += 1;
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      finished = true;
      return { steps: 0, entitlements: 0 };
    };
    const sweeper = startSweeper(testContext(recordLog(), steps), { interval: 1, verbs: { ...verbs, sweep } });
    await vi.waitFor(() => expect(verbs.sweeps).toBe(1), 20_000);
    expect(steps.asked).toHaveLength(0);
    const stopping = sweeper.stop();
    expect(finished).toBe(false);
    release();
    await stopping;
    expect(finished).toBe(true);
    expect(verbs.sweeps).toBe(1);
  });
});
