import { describe, expect, it } from 'vitest';
import { Retryable } from '../../src/errors.js';
import { type BudgetOptions, createBudget, type Pause } from '../../src/http/budget.js';
import { urgently } from '../../src/http/urgency.js';
import { readStatedLimit } from '../../src/http/wait.js';
import { createPlaces } from '../../src/turns.js';
import { faultOf } from '../support/tools.js';

const hour = 60 * 60_000;

/** Opens a budget with a clock of its own. `told` has the pauses that it told the other processes. */
function open(options: Partial<BudgetOptions> = {}) {
  const clock = { now: 1_000_000 };
  const told: Pause[] = [];
  const budget = createBudget({ now: () => clock.now, tell: (pause) => void told.push(pause), ...options });
  const begin = (family = '') => budget.begin(family, 'The directory');
  const waitOf = async (family = '') => {
    const fault = await faultOf(begin(family).then((end) => end()));
    return fault instanceof Retryable ? fault.options.afterMilliseconds : fault;
  };
  const limit = (left: number) => budget.told('', { limit: { limit: 100, left, restartsIn: hour } });
  return { budget, begin, waitOf, limit, clock, told };
}

describe('the budget of a provider', () => {
  it('keeps a fifth of the limit that the provider states for revocations, until the limit restarts', async () => {
    const { begin, waitOf, limit, clock } = open();
    limit(21);
    (await begin())();
    limit(20);
    expect(await waitOf()).toBe(hour);
    (await urgently(() => begin()))();
    clock.now += hour;
    (await begin())();
  });

  it('forgets a pause whose end a clock that was set back has put far away', async () => {
    const { begin, waitOf, budget, clock } = open();
    clock.now += 24 * hour;
    budget.told('', { wait: 60_000 });
    expect(await urgently(() => waitOf())).toBe(60_000);
    clock.now -= 24 * hour;
    (await urgently(() => begin()))();
    budget.told('', { wait: 5_000 });
    expect(await urgently(() => waitOf())).toBe(5_000);
  });

  it('counts calls without a response, so that simultaneous calls do not use the reserve together', async () => {
    const { begin, waitOf, limit } = open();
    limit(23);
    const ends = [await begin(), await begin(), await begin()];
    expect(await waitOf()).toBe(1_000);
    for (const end of ends) end();
    (await begin())();
  });

  it('goes by the lower of two responses that arrive in the wrong order', async () => {
    const { waitOf, limit, budget } = open({ reserved: 0.5 });
    limit(50);
    limit(52);
    budget.heard([]);
    expect(await waitOf()).toBe(hour);
  });

  it('sends nothing, revocations neither, when nothing is left or the provider demands to wait', async () => {
    const { budget, waitOf, limit, clock, begin } = open();
    limit(0);
    expect(await urgently(() => waitOf())).toBe(hour);
    clock.now += hour;
    budget.told('', { wait: 5_000 });
    expect(await urgently(() => waitOf())).toBe(5_000);
    // Another family has a limit of its own.
    (await begin('another'))();
  });

  it('tells the other processes of a pause once, and holds the pauses that they tell', async () => {
    const { waitOf, limit, told, budget } = open();
    for (const left of [20, 19, 18]) limit(left);
    expect(told).toEqual([{ family: '', scope: 'ordinary', milliseconds: hour }]);
    budget.heard([{ family: 'users', scope: 'all', milliseconds: 7_000 }]);
    expect(await urgently(() => waitOf('users'))).toBe(7_000);
    expect(told).toHaveLength(1);
  });

  it('takes calls of a configured limit in blocks, and keeps none for ordinary calls when it gets none', async () => {
    const asked: boolean[] = [];
    const rest = { ordinary: 3, urgent: 5 };
    const lease = async (urgent: boolean) => {
      asked.push(urgent);
      const kind = urgent ? 'urgent' : 'ordinary';
      const taken = rest[kind];
      rest[kind] = 0;
      return { taken, wait: 60_000 };
    };
    const { begin, waitOf, clock } = open({ lease });
    for (let made = 0; made < 3; made += 1) (await begin())();
    expect(asked).toEqual([false]);
    expect(await waitOf()).toBe(5_000);
    expect(await waitOf()).toBe(5_000);
    expect(asked).toEqual([false, false]);
    (await urgently(() => begin()))();
    expect(asked).toEqual([false, false, true]);
    clock.now += 5_000;
  });
});

describe('a place at a provider', () => {
  it('is given to a revocation before calls that have waited longer', async () => {
    const places = createPlaces(1);
    const calm = new AbortController().signal;
    const order: string[] = [];
    let free = () => {};
    const first = places.take(calm, () => new Promise<void>((resolve) => (free = resolve)));
    const others = ['one', 'two'].map((name) => places.take(calm, async () => void order.push(name)));
    const ahead = places.take(calm, async () => void order.push('revocation'), true);
    await new Promise(setImmediate);
    free();
    await Promise.all([first, ...others, ahead]);
    expect(order).toEqual(['revocation', 'one', 'two']);
  });
});

describe('a limit in the headers of a response', () => {
  const read = readStatedLimit({ limit: 'x-limit', left: 'x-left', reset: 'x-reset' });
  it('is read with the time until its restart, by the clock of the provider', () => {
    const date = 'Sun, 22 Nov 2026 20:00:00 GMT';
    const headers = { date, 'x-limit': '5000', 'x-left': '17', 'x-reset': String(Date.parse(date) / 1000 + 9) };
    expect(read({ headers }, 0)).toEqual({ limit: 5_000, left: 17, restartsIn: 9_000 });
  });

  it.each([
    [{ 'x-limit': '5000', 'x-left': '17' }],
    [{ 'x-limit': '5000', 'x-left': 'many', 'x-reset': '1' }],
    [{ 'x-limit': '5000', 'x-left': '-1', 'x-reset': '1' }],
  ])('is not made of nonsense (%o)', (headers) => {
    expect(read({ headers }, 0)).toBeUndefined();
  });
});
