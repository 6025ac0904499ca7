import type { Actors, Fault } from './fault.js';

/** Longer than a worker's lease of 40 s. */
const pastTheLease = 48_000;

/** Processes that end, stop, or start again. */
export const processFaults: Fault[] = [
  {
    name: 'server-killed',
    does: 'kill -9 of a server, started again at once',
    scope: 'everything',
    momentary: true,
    run: async ({ stage, random }) => ({ after: random.pick(stage.servers).killAndRestart() }),
  },
  {
    name: 'worker-killed',
    does: 'kill -9 of a worker, started again at once',
    scope: 'everything',
    lease: true,
    momentary: true,
    workers: true,
    run: async ({ stage, random }) => ({ after: random.pick(stage.workers).killAndRestart() }),
  },
  {
    name: 'server-stopped',
    does: 'SIGSTOP of a server for some seconds, then SIGCONT',
    scope: 'everything',
    async run({ stage, random, wait }, stretch) {
      const server = random.pick(stage.servers);
      server.signal('SIGSTOP');
      await wait(3_000 * stretch);
      server.signal('SIGCONT');
    },
  },
  {
    name: 'worker-stopped-past-lease',
    does: 'SIGSTOP of a worker in the middle of calls that are slow, for longer than its lease, then SIGCONT',
    scope: 'everything',
    lease: true,
    resumes: 'worker-resumed',
    async run({ stage, random, wait }) {
      // Slow calls, so that the worker is stopped in the middle of some.
      for (const proxy of Object.values(stage.proxies.targets)) proxy.delay(150);
      await wait(1_000);
      const worker = random.pick(stage.workers);
      worker.signal('SIGSTOP');
      for (const proxy of Object.values(stage.proxies.targets)) proxy.delay(0);
      return { after: wait(pastTheLease).then(() => worker.signal('SIGCONT')) };
    },
  },
  {
    name: 'database-stopped',
    does: 'SIGSTOP of Belay’s PostgreSQL and all of its processes, then SIGCONT',
    scope: 'everything',
    database: true,
    async run({ stage, wait }, stretch) {
      const thaw = await stage.database.freeze();
      await wait(12_000 * stretch);
      thaw();
    },
  },
  {
    name: 'database-restarted',
    does: 'restart of Belay’s PostgreSQL',
    scope: 'everything',
    database: true,
    run: async ({ stage }) => {
      await stage.database.restart();
    },
  },
  {
    name: 'database-terminated',
    does: 'Belay’s PostgreSQL ends every session, as an administrator or a time limit does',
    scope: 'everything',
    database: true,
    momentary: true,
    run: async ({ stage }) => {
      await stage.database.terminate('belay');
    },
  },
  {
    name: 'redis-restarted',
    does: 'kill -9 of Redis, which loses what it held, started again at once',
    scope: 'queue',
    redis: true,
    run: async ({ stage }) => {
      await restartRedis(stage);
    },
  },
  {
    name: 'redis-lost',
    does: 'kill -9 of Redis, away for some seconds, empty when it comes back',
    scope: 'queue',
    redis: true,
    async run({ stage, wait }, stretch) {
      await stage.redis?.kill();
      await wait(5_000 * stretch);
      await stage.redis?.start();
    },
  },
  {
    name: 'everything-restarted',
    does: 'kill -9 of all processes of Belay, restart of both databases and of Redis, all at once',
    scope: 'everything',
    lease: true,
    database: true,
    workers: true,
    async run({ stage }) {
      const all = [...stage.servers, ...stage.workers];
      await Promise.all(all.map((each) => each.kill()));
      await Promise.all([stage.database.restart(), stage.targetServer.restart(), restartRedis(stage)]);
      return { after: Promise.all(all.map((each) => each.start())) };
    },
  },
];

async function restartRedis(stage: Actors['stage']): Promise<void> {
  await stage.redis?.kill();
  await stage.redis?.start();
}
