import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  begin,
  CANCELLED,
  deliver,
  type Env,
  interrupt,
  type Json,
  type Outcome,
  resolve,
  restoreState,
  type State,
  type Step,
  standardFault,
  storeState,
  type Transition,
  type Workflow,
} from '../src/index.js';
import { sharedPool, workflowOf } from './support/drive.js';

type TaskJson = { [key: string]: Json };

/** A random task. Nothing in it needs jq, so that thousands of transitions are fast. */
const { task } = fc.letrec<{ task: TaskJson; list: Json }>((tie) => ({
  task: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constant<TaskJson>({ call: 'ask', with: { input: '${ . }' } }),
    fc.constant<TaskJson>({ wait: 'PT5S' }),
    fc.constant<TaskJson>({ set: { by: '${ $task.reference }', was: '${ $context }' }, export: { as: '$output.by' } }),
    fc.constant<TaskJson>({ listen: { to: { one: { with: { type: 'a' } } } } }),
    fc.constant<TaskJson>({ call: 'tell' }),
    fc.constant<TaskJson>({ wait: 'PT1S', timeout: { after: 'PT9S' } }),
    fc.constant<TaskJson>({ raise: { error: { type: 'https://a.example', status: 500 } } }),
    fc.constant<TaskJson>({ emit: { event: { with: { type: 'out', source: 'https://a.example' } } } }),
    tie('list').map((list): TaskJson => ({ do: list })),
    tie('list').map((list): TaskJson => ({ do: list, timeout: { after: 'PT7S' } })),
    tie('list').map((list): TaskJson => ({ for: { in: '$workflow.input.items' }, do: list })),
    fc.tuple(tie('list'), fc.boolean()).map(([branches, compete]): TaskJson => ({ fork: { branches, compete } })),
    fc.tuple(tie('list'), tie('list')).map(([list, handler]): TaskJson => ({ try: list, catch: { do: handler } })),
    tie('list').map(
      (list): TaskJson => ({ try: list, catch: { retry: { delay: 'PT1S', limit: { attempt: { count: 1 } } } } }),
    ),
    fc
      .tuple(tie('list'), tie('list'))
      .map(
        ([list, handler]): TaskJson => ({ try: list, catch: { errors: { with: { type: CANCELLED } }, do: handler } }),
      ),
    tie('list').map(
      (list): TaskJson => ({
        listen: { to: { all: [{ with: { type: 'a' } }, { with: { type: 'b' } }] } },
        foreach: { do: list },
      }),
    ),
  ),
  list: fc
    .array(fc.tuple(tie('task'), fc.constantFrom(...Array<string>(14).fill('continue'), 'exit', 'end')), {
      minLength: 1,
      maxLength: 3,
    })
    .map((tasks) => tasks.map(([each, then], index): Json => ({ [`t${index}`]: { ...each, then } }))),
}));

type Move = { pick: number; how: 'succeed' | 'fail' | 'cancel' | 'a' | 'b' };
const moves = fc.array(
  fc.record({
    pick: fc.nat(20),
    how: fc.constantFrom<Move['how']>(
      ...Array<'succeed'>(16).fill('succeed'),
      'fail',
      'fail',
      'fail',
      'a',
      'a',
      'a',
      'b',
      'b',
      'cancel',
    ),
  }),
  { maxLength: 40 },
);

const OVER = ['completed', 'faulted', 'cancelled'];

const input: Json = { items: [1, 2] };

/** Returns a state as written to the database and read back; the input has a column of its own. */
function throughStore(state: State): State {
  return restoreState(JSON.parse(JSON.stringify(storeState(state))), JSON.parse(JSON.stringify(input)));
}

/** Plays the moves, then lets the execution end. The story is every transition without its state, as a host sees it. */
async function play(workflow: Workflow, given: Move[], between: (state: Transition['state']) => Transition['state']) {
  const env = (turn: number): Env => ({
    now: new Date(Date.UTC(2026, 0, 1) + turn * 1000).toISOString(),
    executionId: 'e',
    evaluate: sharedPool().evaluate,
  });
  const open = new Map<string, Step>();
  const ended = new Set<string>();
  const story: Json[] = [];
  let transition = await begin(workflow, input, env(0));
  const end = (key: string) => {
    expect(open.delete(key), `${key} ended without being open`).toBe(true);
    ended.add(key);
  };
  const take = (next: Transition) => {
    transition = next;
    for (const key of next.close) end(key);
    for (const step of next.open) {
      expect(open.has(step.key) || ended.has(step.key), `${step.key} was opened twice`).toBe(false);
      open.set(step.key, step);
    }
    expect([...open.keys()].sort()).toEqual(Object.keys(next.state.open).sort());
    if (OVER.includes(next.status)) expect(open.size).toBe(0);
    else expect(open.size, 'alive and waiting for nothing').toBeGreaterThan(0);
    const { state: _state, ...told } = next;
    story.push(JSON.parse(JSON.stringify(told)) as Json);
  };
  take(transition);
  for (let turn = 1; turn < 300 && !OVER.includes(transition.status); turn += 1) {
    const move = given[turn - 1] ?? { pick: turn, how: turn % 7 === 0 ? 'b' : turn % 3 === 0 ? 'a' : 'succeed' };
    const state = between(transition.state);
    const before = JSON.stringify(state);
    const steps = [...open.values()].filter((step) => step.kind !== 'event');
    const step = steps[move.pick % Math.max(steps.length, 1)];
    if (move.how === 'cancel') {
      take(await interrupt(workflow, state, env(turn)));
    } else if (move.how === 'a' || move.how === 'b' || !step) {
      const type = move.how === 'b' ? 'b' : 'a';
      const event = { specversion: '1.0' as const, id: `${turn}`, source: 'https://a.example', type };
      const next = await deliver(workflow, state, event, env(turn));
      if (next) take(next);
    } else {
      end(step.key);
      const failed: Outcome = { ok: false, fault: standardFault('communication') };
      const outcome =
        move.how === 'fail' && step.kind === 'call'
          ? failed
          : { ok: true as const, value: step.kind === 'call' ? turn : null };
      take(await resolve(workflow, state, step.key, outcome, env(turn)));
      const again = await resolve(workflow, transition.state, step.key, { ok: true, value: 'late' }, env(turn));
      expect(again).toMatchObject({ open: [], close: [], events: [], emitted: [] });
      expect(again.state).toBe(transition.state);
    }
    expect(JSON.stringify(state), 'the state that was given has changed').toBe(before);
  }
  return { story, last: transition };
}

describe('any workflow, with any events in any order', () => {
  it('ends with no open step, opens and ends each step once, and survives JSON unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(task, { minLength: 1, maxLength: 3 }), moves, async (tasks, given) => {
        const workflow = workflowOf({ do: tasks.map((each, index) => ({ [`t${index}`]: each })) });
        const kept = await play(workflow, given, (state) => state);
        const stored = await play(workflow, given, throughStore);
        expect(stored.story).toEqual(kept.story);
        expect(stored.last.state).toEqual(kept.last.state);
        if (kept.last.state.cancelling) expect(kept.last.status).not.toMatch(/completed|faulted/);
      }),
      { numRuns: 1500 },
    );
  });
});
