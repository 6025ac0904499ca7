import type { Actors, Fault } from './fault.js';

const longest = 20_000;

/** Workflows that take much processor time; other requests must not become slower. */
export const burdens: Fault[] = [
  {
    name: 'long-loop',
    does: 'a workflow of 10,000 iterations',
    scope: 'nothing',
    async run({ burden, wait }) {
      const request = await burden.request('long', 60, ['completed', 'cancelled']);
      await untilIdle(burden, wait);
      if ((await burden.countRunning()) > 0) await burden.cancel(request);
    },
  },
  {
    name: 'endless-loops',
    does: 'three workflows that never end, cancelled after some seconds',
    scope: 'nothing',
    run: ({ burden, wait }, stretch) => cancelAfter('loop', 3, 4_000 * stretch, burden, wait),
  },
  {
    name: 'slow-expressions',
    does: 'a workflow of 1,000 expressions that take a quarter of their time limit, cancelled after some seconds',
    scope: 'nothing',
    run: ({ burden, wait }, stretch) => cancelAfter('slow', 1, 4_000 * stretch, burden, wait),
  },
  {
    name: 'huge-results',
    does: 'a workflow of nothing but expressions that make a gigabyte each, beside the expressions of others',
    scope: 'nothing',
    async run({ burden, debtors, wait }, stretch) {
      const request = await burden.request('huge', 60, ['cancelled', 'completed']);
      const counted = await Promise.all(debtors.map((person) => person.request('counted', 1)));
      await wait(4_000 * stretch);
      await burden.cancel(request);
      return { after: Promise.all(counted.map((each, index) => debtors[index]?.follow(each, longest))) };
    },
  },
  {
    name: 'endless-expressions',
    does: '25 executions that do nothing but endless jq, beside the expressions of all other people',
    scope: 'nothing',
    async run({ burden, wait }) {
      await Promise.all(Array.from({ length: 25 }, () => burden.request('endless', 60, ['faulted'])));
      await untilIdle(burden, wait);
    },
  },
];

async function cancelAfter(
  role: string,
  count: number,
  milliseconds: number,
  burden: Actors['burden'],
  wait: Actors['wait'],
): Promise<undefined> {
  const sent = Array.from({ length: count }, () => burden.request(role, 60, ['cancelled', 'completed']));
  const requests = await Promise.all(sent);
  await wait(milliseconds);
  for (const request of requests) await burden.cancel(request);
}

/**
 * Waits until no execution runs, for 20 s at most. Reads the list of executions, because the history of a long loop is
 * long.
 */
async function untilIdle(burden: Actors['burden'], wait: Actors['wait']): Promise<void> {
  const deadline = Date.now() + longest;
  while (Date.now() < deadline && (await burden.countRunning()) > 0) await wait(500);
}
