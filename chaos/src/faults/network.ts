import type { FaultyProxy, Loss } from '../faulty-proxy.js';
import type { Scope } from '../history.js';
import type { Fault } from './fault.js';

interface Line {
  name: string;
  scope: Scope;
  database?: boolean;
  redis?: boolean;
  proxy(stage: Parameters<Fault['run']>[0]['stage']): FaultyProxy;
}

const lines: Line[] = [
  { name: 'database', scope: 'everything', database: true, proxy: ({ proxies }) => proxies.database },
  { name: 'target', scope: { target: 'one' }, proxy: ({ proxies }) => proxies.targets.one },
  {
    name: 'redis',
    scope: 'queue',
    redis: true,
    proxy: ({ proxies }) => {
      if (!proxies.redis) throw new Error('The queue is not on Redis');
      return proxies.redis;
    },
  },
];

const losses: [Loss, string][] = [
  ['reset', 'resets every open connection'],
  ['close', 'closes every open connection in order'],
  ['half-close', 'closes one direction of every open connection: the far end says nothing more and still listens'],
  ['half-open', 'closes the far end of every open connection and tells the near end nothing'],
];

/** Every fault of every network line: to Belay’s database, to one of the two targets, to Redis. */
export const networkFaults: Fault[] = lines.flatMap(({ name, proxy, ...base }) => {
  const lost = losses.map(
    ([loss, does]): Fault => ({
      ...base,
      name: `${name}-${loss}`,
      does,
      momentary: true,
      run: async ({ stage }) => {
        proxy(stage).lose(loss);
      },
    }),
  );
  return [
    ...lost,
    {
      ...base,
      name: `${name}-delay`,
      does: 'delays everything by 200 ms in each direction',
      run: async ({ stage, wait }, stretch) => {
        proxy(stage).delay(200);
        await wait(2_000 * stretch);
        proxy(stage).delay(0);
      },
    },
    {
      ...base,
      name: `${name}-refuse`,
      does: 'resets every open and every new connection',
      run: async ({ stage, wait }, stretch) => {
        proxy(stage).refuse(true);
        proxy(stage).lose('reset');
        await wait(3_000 * stretch);
        proxy(stage).refuse(false);
      },
    },
    {
      ...base,
      name: `${name}-answer-lost`,
      does: 'resets connections in place of every tenth answer, after the statement was executed',
      run: async ({ stage, random, wait }, stretch) => {
        proxy(stage).loseAnswers(() => random.next() < 0.1);
        await wait(2_000 * stretch);
        proxy(stage).loseAnswers(undefined);
      },
    },
    // The silence of a target is a fault of its own (`target-silent`), with a hundred revocations owed there.
    ...(name === 'target' ? [] : [makeBlackHole(name, base, proxy)]),
  ];
});

function makeBlackHole(name: string, base: Pick<Fault, 'scope' | 'database' | 'redis'>, proxy: Line['proxy']): Fault {
  return {
    ...base,
    name: `${name}-black-hole`,
    does: 'swallows both directions and goes on accepting; connections of that time stay mute for ever',
    async run({ stage, wait }, stretch) {
      proxy(stage).swallow(true);
      // Longer than any request may wait for the database. For Redis less is enough, because losing the queue costs seconds only.
      await wait((name === 'redis' ? 4_000 : 12_000) * stretch);
      proxy(stage).swallow(false);
    },
  };
}
