import { elevations } from './belay/elevate.js';
import { type BenchOptions, openBench } from './setup.js';
import type { Shape } from './shapes.js';

export interface Throughput {
  perSecond: number;
  statements: number;
  commits: number;
}

/**
 * Measures complete elevations per second: requested, granted, recorded as active, given back, recorded as
 * gone. Each of `together` people does one after the other for `milliseconds`.
 */
export async function measureElevations(options: {
  shape: Shape;
  together: number;
  milliseconds: number;
  redisUrl?: string;
}): Promise<Throughput> {
  const redis = options.redisUrl ? { redisUrl: options.redisUrl } : {};
  const timed = await run(options.shape, { people: options.together, ...redis }, options.milliseconds);
  const counted = await run(options.shape, { people: 4, count: true, ...redis }, 1_000);
  return { perSecond: timed.perSecond, statements: counted.statements, commits: counted.commits };
}

async function run(shape: Shape, options: BenchOptions, milliseconds: number): Promise<Throughput> {
  const bench = await openBench(options);
  try {
    const once = elevations(bench);
    // The first rounds warm up, and the listener learns which entitlement each person has.
    for (let round = 0; round < 3; round += 1) await Promise.all(bench.people.map((person) => once(person, shape)));
    bench.statements.take();
    const started = performance.now();
    const until = started + milliseconds;
    let done = 0;
    await Promise.all(
      bench.people.map(async (person) => {
        while (performance.now() < until) {
          await once(person, shape);
          done += 1;
        }
      }),
    );
    const seconds = (performance.now() - started) / 1000;
    const { statements, commits } = bench.statements.take();
    return { perSecond: done / seconds, statements: statements / done, commits: commits / done };
  } finally {
    await bench.close();
  }
}
