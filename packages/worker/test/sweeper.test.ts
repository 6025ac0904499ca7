import { describe, expect, it, vi } from 'vitest';
import { createAgenda } from '../src/agenda.js';
import { startSweeper } from '../src/sweeper.js';
import { nothingDue, recordLog, recordVerbs, testContext } from './support/context.js';

/** Returns a delay that ends when the test calls `next`, and that records the requested milliseconds. */
function steppedDelay() {
  const asked: number[] = [];
  let go: (() => void) | null = null;
  return {
    asked,
    // The clock stands still, because the sweeper shortens the wait after a pass that was slow, as on a busy machine.
    clock: () => new Date(1_000),
    delay: (milliseconds: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        asked.push(milliseconds);
        go = resolve;
        signal?.addEventListener('abort', () => reject(signal.reason));
      }),
    async next(): Promise<void> {
      await vi.waitFor(() => expect(go).not.toBeNull(), { interval: 1, timeout: 30_000 });
      go?.();
      go = null;
    },
  };
}

const agenda = createAgenda({ clock: () => new Date() });
const plan = () => {};

describe('the sweeper', () => {
  it('sweeps immediately, and then at the interval with 25% of jitter', async () => {
    const steps = steppedDelay();
    const verbs = recordVerbs();
    const sweeper = startSweeper(testContext(recordLog(), steps), { interval: 1_000, agenda, plan, verbs });
    for (let pass = 0; pass < 50; pass += 1) await steps.next();
    await sweeper.stop();
    expect(verbs.sweeps).toBeGreaterThanOrEqual(50);
    expect(Math.min(...steps.asked)).toBeGreaterThanOrEqual(750);
    expect(Math.max(...steps.asked)).toBeLessThanOrEqual(1_250);
    expect(new Set(steps.asked).size).toBeGreaterThan(5);
  });

  it('notices a restore before it plans what is due, in each pass', async () => {
    const steps = steppedDelay();
    const done: string[] = [];
    const verbs = {
      ...recordVerbs(),
      async noticeRestore() {
        done.push('notice');
        return false;
      },
      async findDue() {
        done.push('find');
        return nothingDue();
      },
    };
    const sweeper = startSweeper(testContext(recordLog(), steps), {
      interval: 1_000,
      agenda,
      plan: () => void done.push('plan'),
      verbs,
    });
    await steps.next();
    await vi.waitFor(() => expect(steps.asked).toHaveLength(2), 30_000);
    await sweeper.stop();
    expect(done.slice(0, 6)).toEqual(['notice', 'find', 'plan', 'notice', 'find', 'plan']);
  });

  it('follows a pass that did not see as far as it should with one at the time that it reached', async () => {
    const steps = steppedDelay();
    const now = new Date();
    const results = [
      { ...nothingDue(), now, until: new Date(now.getTime() + 1_500) },
      { ...nothingDue(), now, until: new Date(now.getTime() - 60_000) },
      { ...nothingDue(), now, until: new Date(now.getTime() + 60_000) },
    ];
    const findDue = async () => results.shift() ?? nothingDue();
    const verbs = { ...recordVerbs(), findDue };
    const sweeper = startSweeper(testContext(recordLog(), steps), { interval: 10_000, agenda, plan, verbs });
    for (let pass = 0; pass < 2; pass += 1) await steps.next();
    await vi.waitFor(() => expect(steps.asked).toHaveLength(3), 30_000);
    await sweeper.stop();
    const [first = 0, second = 0, third = 0] = steps.asked;
    expect([first, second]).toEqual([1_500, 250]);
    expect(third).toBeGreaterThanOrEqual(7_500);
  });

  it('sweeps again soon after its start while responses are too slow to compare the clocks', async () => {
    const steps = steppedDelay();
    const times = [0, 100, 100, 200, 200, 205];
    const clock = () => new Date(1_000 + (times.shift() ?? 205));
    const context = { ...testContext(recordLog(), steps), clock };
    const sweeper = startSweeper(context, { interval: 10_000, agenda, plan, verbs: recordVerbs() });
    for (let pass = 0; pass < 2; pass += 1) await steps.next();
    await vi.waitFor(() => expect(steps.asked).toHaveLength(3), 30_000);
    await sweeper.stop();
    expect(steps.asked.slice(0, 2)).toEqual([250, 250]);
    expect(steps.asked[2]).toBeGreaterThanOrEqual(7_500);
  });

  it('continues after failed passes, and logs the outage once', async () => {
    const steps = steppedDelay();
    const log = recordLog();
    const verbs = recordVerbs();
    let down = true;
    const findDue = async () => {
      verbs.sweeps += 1;
      if (down) throw new Error('connection refused');
      return nothingDue();
    };
    const sweeper = startSweeper(testContext(log, steps), {
      interval: 1_000,
      agenda,
      plan,
      verbs: { ...verbs, findDue },
    });
    for (let pass = 0; pass < 3; pass += 1) await steps.next();
    down = false;
    await steps.next();
    await vi.waitFor(() => expect(verbs.sweeps).toBe(5), 30_000);
    await vi.waitFor(() => expect(log.count('info', /reachable again/)).toBe(1), 30_000);
    await sweeper.stop();
    expect(log.count('warn', /not reachable/)).toBe(1);
  });

  it('sweeps every second while jobs cannot arrive or its passes fail', async () => {
    const steps = steppedDelay();
    let away = true;
    let down = false;
    const findDue = async () => {
      if (down) throw new Error('connection refused');
      return nothingDue();
    };
    const sweeper = startSweeper(testContext(recordLog(), steps), {
      interval: 10_000,
      agenda,
      plan,
      isAway: () => away,
      verbs: { ...recordVerbs(), findDue },
    });
    await steps.next();
    [away, down] = [false, true];
    await steps.next();
    down = false;
    await vi.waitFor(() => expect(steps.asked).toHaveLength(3), 30_000);
    await sweeper.stop();
    expect(steps.asked.slice(0, 2)).toEqual([1_000, 1_000]);
    expect(steps.asked[2]).toBeGreaterThanOrEqual(7_500);
  });

  it('sweeps once more after it is notified of lost jobs, regardless of the number of notifications', async () => {
    const verbs = recordVerbs();
    const plans = vi.fn();
    const sweeper = startSweeper(testContext(recordLog()), { interval: 3_600_000, agenda, plan: plans, verbs });
    await vi.waitFor(() => expect(plans).toHaveBeenCalledTimes(1), 30_000);
    for (let time = 0; time < 5; time += 1) sweeper.soon();
    await vi.waitFor(() => expect(plans).toHaveBeenCalledTimes(2), 30_000);
    sweeper.soon();
    await vi.waitFor(() => expect(plans).toHaveBeenCalledTimes(3), 30_000);
    await sweeper.stop();
  });

  it('compares providers after a restore beside its passes, once at a time, and ends that when it stops', async () => {
    const steps = steppedDelay();
    let begun = 0;
    let ended = 0;
    const compareRestored = async (_: unknown, signal: AbortSignal) => {
      begun += 1;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      ended += 1;
      return 1;
    };
    const verbs = { ...recordVerbs(), compareRestored };
    const sweeper = startSweeper(testContext(recordLog(), steps), { interval: 1_000, agenda, plan, verbs });
    for (let pass = 0; pass < 5; pass += 1) await steps.next();
    expect([begun, ended]).toEqual([1, 0]);
    await sweeper.stop();
    expect([begun, ended]).toEqual([1, 1]);
  });

  it('deletes expired logins at the start and every five minutes', async () => {
    const steps = steppedDelay();
    let expired = 0;
    const expireLogins = async () => {
      expired += 1;
      return 0;
    };
    const context = testContext(recordLog(), steps);
    const sweeper = startSweeper(context, {
      interval: 60_000,
      agenda,
      plan,
      verbs: { ...recordVerbs(), expireLogins },
    });
    let waited = 0;
    for (let pass = 0; pass < 30; pass += 1) {
      await vi.waitFor(() => expect(steps.asked).toHaveLength(pass + 1), { interval: 1, timeout: 30_000 });
      waited += steps.asked[pass] ?? 0;
      await steps.next();
    }
    await sweeper.stop();
    const minutes = waited / 60_000;
    expect(expired).toBeGreaterThanOrEqual(Math.floor(minutes / 6.25));
    expect(expired).toBeLessThanOrEqual(1 + Math.ceil(minutes / 5));
  });

  it('never runs two passes at the same time, and waits for the last one when it stops', async () => {
    const steps = steppedDelay();
    let release = () => {};
    let finished = false;
    const verbs = recordVerbs();
    const findDue = async () => {
      verbs.sweeps += 1;
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      finished = true;
      return nothingDue();
    };
    const sweeper = startSweeper(testContext(recordLog(), steps), {
      interval: 1,
      agenda,
      plan,
      verbs: { ...verbs, findDue },
    });
    await vi.waitFor(() => expect(verbs.sweeps).toBe(1), 30_000);
    expect(steps.asked).toHaveLength(0);
    const stopping = sweeper.stop();
    expect(finished).toBe(false);
    release();
    await stopping;
    expect(finished).toBe(true);
    expect(verbs.sweeps).toBe(1);
  });
});
