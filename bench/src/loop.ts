import { requestElevation } from '@belay/core';
import { begin, createExpressionPool, parseWorkflow, resolve } from '@belay/workflow';
import { median, medianRatio } from './compare/turns.js';
import { fixed, table } from './markdown.js';
import type { SectionOptions, Write } from './section.js';
import { openBench } from './setup.js';

interface Looped {
  /** Milliseconds of each round. */
  belay: number[];
  machine: number[];
  /** Evaluations for one lap: a lap has two expressions. */
  evaluations: number;
}

const loopOf = (laps: number) => ({
  document: { dsl: '1.0.3', namespace: 'bench', name: 'loop', version: '1.0.0' },
  do: [
    { begin: { set: { n: 0 } } },
    { lap: { set: { n: '${ .n + 1 }' } } },
    { again: { switch: [{ more: { when: `\${ .n < ${laps} }`, then: 'lap' } }, { done: { then: 'end' } }] } },
  ],
});

/**
 * Measures a loop in one execution, with its worker and the PostgreSQL queue, beside the state machine alone, in memory, with a pool of
 * expression threads of its own, in turns.
 */
async function measureLoop({ laps, rounds }: { laps: number; rounds: number }): Promise<Looped> {
  let evaluations = 0;
  const workflow = loopOf(laps);
  const bench = await openBench({
    people: 1,
    workflows: { loop: { workflow } },
    onEvaluation: () => {
      evaluations += 1;
    },
  });
  const pool = createExpressionPool();
  const parsed = parseWorkflow(workflow, { functions: {} });
  if (!parsed.ok) throw new Error('The loop is not a valid workflow');
  const [person] = bench.people;
  if (!person) throw new Error('The benchmark needs people');

  const inBelay = async () => {
    const { output } = await requestElevation(person, { role: 'reader', workflow: 'loop', reason: 'a benchmark' });
    for (;;) {
      const [row] =
        await bench.observer`select status from executions where id = ${output.execution_id} and ended_at is not null`;
      if (row?.status === 'completed') return;
      if (row) throw new Error(`The loop has ended as ${row.status}`);
      await bench.ctx.delay(20);
    }
  };
  const inMemory = async () => {
    const env = () => ({ now: new Date().toISOString(), executionId: 'loop', evaluate: pool.evaluate });
    let last = await begin(parsed.workflow, {}, env());
    // The machine pauses from time to time, with a timer that is due at once.
    while (last.status === 'waiting') {
      const [key = ''] = Object.keys(last.state.open);
      last = await resolve(parsed.workflow, last.state, key, { ok: true, value: null }, env());
    }
    if (last.status !== 'completed') throw new Error(`The loop has ended as ${last.status}`);
  };

  try {
    const found: Looped = { belay: [], machine: [], evaluations: 0 };
    for (let round = 0; round < rounds; round += 1) {
      found.machine.push(await timed(inMemory));
      found.belay.push(await timed(inBelay));
    }
    return { ...found, evaluations: evaluations / laps / rounds };
  } finally {
    await pool.close();
    await bench.close();
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Prints how long the laps of a loop take. */
export async function printLoop(write: Write, { quick, rounds }: SectionOptions): Promise<void> {
  const laps = quick ? 1_000 : 10_000;
  const { belay, machine, evaluations } = await measureLoop({ laps, rounds: rounds ?? (quick ? 1 : 3) });
  const seconds = (rates: readonly number[]) => `${fixed(median(rates) / 1000, 1)} s`;
  const head = ['Laps', 'In an execution', 'The state machine alone', 'Ratio', 'Evaluations of a lap'];
  write(
    table(head, [
      [
        String(laps),
        seconds(belay),
        seconds(machine),
        `${fixed(medianRatio(belay, machine), 2)} ×`,
        fixed(evaluations, 2),
      ],
    ]),
  );
}
