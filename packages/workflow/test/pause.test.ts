import { performance } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { begin, type Env, type Json, measureTurn, parseState, resolve, type Transition } from '../src/index.js';
import { sharedPool, workflowOf } from './support/drive.js';

const env = (more: Partial<Env> = {}): Env => ({
  now: '2026-01-01T00:00:00.000Z',
  executionId: 'e',
  evaluate: sharedPool().evaluate,
  ...more,
});

/** Runs an execution to its end, one transition after another, and returns each of them. */
async function transitions(workflow: ReturnType<typeof workflowOf>, input: Json, make: () => Env) {
  const all: Transition[] = [await begin(workflow, input, make())];
  for (let last = all[0]; last && last.status === 'waiting'; last = all.at(-1)) {
    const [key] = Object.keys(last.state.open);
    const state = parseState(JSON.parse(JSON.stringify(last.state)));
    all.push(await resolve(workflow, state, key ?? '', { ok: true, value: null }, make()));
  }
  return all;
}

const started = ({ events }: Transition) => events.filter(({ type }) => type.includes('task.started')).length;
const loop = workflowOf({ do: [{ f: { for: { in: '.' }, do: [{ s: { set: '${ $item }' } }] } }] });

describe('a host that wants a pause', () => {
  it('gets it before the next task, as a timer that is due now', async () => {
    const first = await begin(loop, [1, 2, 3], env({ pause: () => true }));
    expect(first).toMatchObject({
      status: 'waiting',
      open: [{ kind: 'timer', request: { purpose: 'continue' }, dueAt: '2026-01-01T00:00:00.000Z' }],
    });
  });

  it('still sees one task run in every transition, in loops, branches and attempts', async () => {
    const raise = { raise: { error: { type: 'https://a.example', status: 500 } } };
    const workflow = workflowOf({
      do: [
        { f: { for: { in: '.' }, do: [{ s: { set: '${ $item }' } }] } },
        { k: { fork: { branches: [{ a: { do: [{ b: { set: { n: 1 } } }] } }, { c: { set: { n: 2 } } }] } } },
        {
          t: { try: [{ r: raise }], catch: { retry: { limit: { attempt: { count: 2 } } }, do: [{ d: { set: '1' } }] } },
        },
      ],
    });
    const all = await transitions(workflow, [1, 2, 3], () => env({ pause: () => true }));
    expect(all.at(-1)).toMatchObject({ status: 'completed', output: 1 });
    const moves = all.slice(0, -1).filter((each) => started(each) !== 1);
    // Even the transition of a retry's timer starts exactly one task: the first one inside the `try`.
    expect(moves).toEqual([]);
    expect(all.length).toBeGreaterThan(10);
  });

  it('does not change the result of an execution, wherever it pauses', async () => {
    const items = Array.from({ length: 40 }, (_, index) => index);
    const sum = workflowOf({
      do: [
        { z: { set: { n: 0 }, export: { as: '.' } } },
        {
          f: {
            input: { from: '$workflow.input' },
            for: { in: '.' },
            do: [{ s: { set: { n: '${ $context.n + $item }' }, export: { as: '.' } } }],
          },
        },
      ],
    });
    const whole = await transitions(sum, items, () => env());
    let asked = 0;
    const parts = await transitions(sum, items, () => env({ pause: () => ++asked % 3 === 0 }));
    expect(whole).toHaveLength(1);
    expect(parts.length).toBeGreaterThan(10);
    expect(parts.at(-1)?.output).toEqual({ n: 780 });
    expect(parts.flatMap(({ events }) => events)).toEqual(whole.flatMap(({ events }) => events));
  });

  it('is called with the processor time of every expression in its thread, including failed ones', async () => {
    const spent: number[] = [];
    const spend = (milliseconds: number) => spent.push(milliseconds);
    const slow = '[range(100000)] | length';
    await begin(workflowOf({ do: [{ a: { set: { n: `\${ ${slow} }` } } }] }), null, env({ spend }));
    await begin(workflowOf({ do: [{ a: { set: { n: `\${ ${slow} | error }` } } }] }), null, env({ spend }));
    expect(spent).toHaveLength(2);
    for (const each of spent) expect(each).toBeGreaterThan(1);
  });
});

it('faults a task whose expressions take too long together, and not a loop of such tasks', async () => {
  const evaluate: Env['evaluate'] = async (_expression, _input, _args, caller) => {
    caller?.spend?.(200);
    return 1;
  };
  const set = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`e${n}`, `\${ ${n} + . }`]));
  const one = await begin(workflowOf({ do: [{ many: { set } }] }), 1, env({ evaluate }));
  expect(one).toMatchObject({ status: 'faulted', fault: { status: 400, detail: expect.stringContaining('together') } });
  const each = workflowOf({ do: [{ f: { for: { in: '.' }, do: [{ s: { set: '${ 1 + $item }' } }] } }] });
  const items = Array.from({ length: 100 }, (_, n) => n);
  expect(await begin(each, items, env({ evaluate }))).toMatchObject({ status: 'completed' });
});

describe('a measured turn', () => {
  it('ends after its share of processor time, and yields to the event loop meanwhile', async () => {
    const items = Array.from({ length: 100_000 }, (_, index) => index);
    let turns = 0;
    const beat = setInterval(() => {
      turns += 1;
    }, 1);
    // The limit is twenty slices, so that one delay of the computer does not use up the turn.
    const make = () => measureTurn({ evaluate: sharedPool().evaluate, limit: 200, clock: () => performance.now() });
    const first = await begin(loop, items, env(make()));
    clearInterval(beat);
    expect(first.status).toBe('waiting');
    expect(turns).toBeGreaterThanOrEqual(3);
  });

  it('checks large data in parts, and yields to the event loop between them', async () => {
    const rows = Array.from({ length: 150_000 }, (_, id) => ({ id, text: 'abc' }));
    let breaths = 0;
    const pause = () => {
      breaths += 1;
      return false;
    };
    const ask = workflowOf({ do: [{ a: { call: 'ask' } }] });
    const state = (await begin(ask, rows, env({ pause }))).state;
    expect(breaths).toBeGreaterThan(20);
    expect(parseState(JSON.parse(JSON.stringify(state)))).toEqual(state);
  });

  it('counts the time of the jq threads, and not the time of waiting', async () => {
    let now = 0;
    const turn = measureTurn({
      evaluate: async () => {
        now += 1_000;
        return null;
      },
      limit: 100,
      clock: () => now,
    });
    await turn.evaluate('.', null, {});
    expect(await turn.pause()).toBe(false);
    turn.spend(60);
    now += 5;
    expect(await turn.pause()).toBe(false);
    now += 40;
    expect(await turn.pause()).toBe(true);
  });
});
