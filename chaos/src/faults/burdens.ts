import type { Actors, Fault } from './fault.js';

const longest = 20_000;

/** Workflows that are a burden to the service; nobody else may notice. */
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
    name: 'endless-expressions',
    does: '25 executions that do nothing but endless jq, beside everybody else’s expressions',
    scope: 'nothing',
    async run({ burden, wait }) {
      await Promise.all(Array.from({ length: 25 }, () => burden.request('endless', 60, ['faulted'])));
      await untilIdle(burden, wait);
    },
  },
];

/** Looks at the list, because the history of a long loop is long. */
async function untilIdle(burden: Actors['burden'], wait: Actors['wait']): Promise<void> {
  const deadline = Date.now() + longest;
  while (Date.now() < deadline && (await burden.countRunning()) > 0) await wait(500);
}
