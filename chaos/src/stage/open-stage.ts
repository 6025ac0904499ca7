import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findFreePort } from '@belay/host';
import { type FaultyProxy, startFaultyProxy } from '../faulty-proxy.js';
import type { History } from '../history.js';
import { type BelayProcess, startBelay } from './belay.js';
import { makeConfiguration } from './configuration.js';
import type { TargetName } from './names.js';
import { onConnection, type PostgresServer, startPostgres } from './postgres.js';
import { type RedisServer, startRedis } from './redis.js';
import { makeTarget, type Target } from './target.js';
import { limit } from './within.js';

const cli = fileURLToPath(new URL('../../../apps/cli/bundle/main.js', import.meta.url));
const run = promisify(execFile);

/** The processes and proxies of a run. */
export interface Stage {
  database: PostgresServer;
  targetServer: PostgresServer;
  target: Target;
  redis: RedisServer | undefined;
  proxies: { database: FaultyProxy; targets: Record<TargetName, FaultyProxy>; redis: FaultyProxy | undefined };
  servers: BelayProcess[];
  workers: BelayProcess[];
  /** Creates a token with the operator's command. */
  createToken(person: string, group: string): Promise<string>;
  /** Steps the clock of Belay's database. */
  stepDatabase(offset: number): Promise<void>;
  /** Steps the wall clock of every process of Belay. */
  stepProcesses(offset: number): Promise<void>;
  /** Rejects when a process that its supervisor started again neither becomes ready nor ends. */
  hung: Promise<never>;
  /** Where the logs of the processes are. */
  folder: string;
  close(keepLogs: boolean): Promise<void>;
}

export interface StageOptions {
  queue: 'redis' | 'postgres';
  people: readonly string[];
  history: History;
}

/**
 * Starts two databases, Redis when it is the queue, a proxy before each, two servers and two workers. When one of them does not
 * start, it stops the others and throws its error.
 */
export async function openStage(options: StageOptions): Promise<Stage> {
  const opened: (() => PromiseLike<unknown>)[] = [];
  const keep = <T>(one: T, stop: (one: T) => PromiseLike<unknown>): T => {
    opened.unshift(() => stop(one));
    return one;
  };
  return open(options, keep).catch(async (error: unknown) => {
    for (const stop of opened) await stop();
    throw error;
  });
}

async function open(
  { queue, people, history }: StageOptions,
  keep: <T>(one: T, stop: (one: T) => PromiseLike<unknown>) => T,
): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'belay-chaos-'));
  await chmod(folder, 0o711);
  await writeFile(join(folder, 'belay.yaml'), makeConfiguration());
  const database = keep(await startPostgres('database'), (one) => one.stop());
  const targetServer = keep(await startPostgres('target'), (one) => one.stop());
  const redis = queue === 'redis' ? keep(await startRedis(), (one) => one.stop()) : undefined;
  const proxyTo = async (port: number) =>
    keep(await startFaultyProxy({ host: '127.0.0.1', port }), (one) => one[Symbol.asyncDispose]());
  const proxies = {
    database: await proxyTo(database.port),
    targets: { one: await proxyTo(targetServer.port), two: await proxyTo(targetServer.port) },
    redis: redis && (await proxyTo(redis.port)),
  };
  await database.ensureDatabase('belay');
  const target = await makeTarget(targetServer, people);
  const direct = database.url('belay');
  const environment = {
    DATABASE_URL: withPort(direct, proxies.database.port),
    BELAY_SECRET: randomBytes(32).toString('base64'),
    BELAY_TRUST_PROXY: '1',
    LOG_LEVEL: 'warn',
    TARGET_ONE: target.url('one', proxies.targets.one.port),
    TARGET_TWO: target.url('two', proxies.targets.two.port),
    ...(proxies.redis ? { REDIS_URL: `redis://127.0.0.1:${proxies.redis.port}` } : {}),
  };
  let hang = (_error: Error) => {};
  const hung = new Promise<never>((_resolve, reject) => {
    hang = reject;
  });
  hung.catch(() => {});
  const start = async (name: string, port?: number) => {
    const started = await startBelay({
      name,
      folder,
      environment,
      ...(port === undefined ? {} : { port }),
      onDeath: (how) => void history.deaths.push({ process: name, at: Date.now(), how }),
      onHang: (error) => hang(error),
    });
    return keep(started, (one) => one.stop());
  };
  const first = await start('server1', await findFreePort('127.0.0.1'));
  await makeClock(direct);
  const rest = [start('server2', await findFreePort('127.0.0.1')), start('worker1'), start('worker2')] as const;
  // Waits for all of them, so that all that have started are known and can be stopped when one has failed.
  await Promise.allSettled(rest);
  const [second, ...workers] = await Promise.all(rest);
  const servers = [first, second];
  return {
    database,
    targetServer,
    target,
    redis,
    proxies,
    servers,
    workers,
    hung,
    folder,
    async createToken(person, group) {
      const options = ['token', 'create', '--user', `${person}@example.com`, '--group', group, '--ttl', 'P1D'];
      const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...environment };
      const { stdout } = await run(process.execPath, [cli, ...options], { cwd: folder, env, timeout: limit });
      return stdout.trim();
    },
    stepDatabase: (offset) => stepClock(direct, offset, history),
    async stepProcesses(offset) {
      await writeFile(join(folder, 'clock'), String(offset));
      for (const each of [...servers, ...workers]) each.signal('SIGUSR2');
    },
    async close(keepLogs) {
      await Promise.all([...servers, ...workers].map((each) => each.stop()));
      for (const proxy of [proxies.database, proxies.targets.one, proxies.targets.two, proxies.redis]) {
        await proxy?.[Symbol.asyncDispose]();
      }
      await redis?.stop();
      await Promise.all([database.stop(), targetServer.stop()]);
      if (!keepLogs) await rm(folder, { recursive: true, force: true });
    },
  };
}

function withPort(url: string, port: number): string {
  const changed = new URL(url);
  changed.port = String(port);
  return changed.href;
}

/** Replaces the clock function of Belay's database by the real clock plus an offset that is in a table. */
async function makeClock(url: string): Promise<void> {
  await onConnection(url, (sql) =>
    sql.unsafe(`
      create table public.chaos_clock (step interval not null);
      insert into public.chaos_clock values ('0');
      create or replace function app_now() returns timestamptz language sql stable parallel safe
        as 'select now() + (select step from public.chaos_clock)'`),
  );
}

async function stepClock(url: string, offset: number, history: History): Promise<void> {
  await onConnection(url, (sql) => sql`update public.chaos_clock set step = ${`${offset} milliseconds`}::interval`);
  history.clock.push({ at: Date.now(), offset });
}
