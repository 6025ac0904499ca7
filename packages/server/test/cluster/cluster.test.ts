import { createToken } from '@belay/core';
import { openOperatorContext, parseEnvironment } from '@belay/operations';
import { type BelayClient, createClient, isBelayError } from '@belay/sdk';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { hasRedis, type RedisServer, startRedis } from '../../../../chaos/src/stage/redis.js';
import { type Folder, makeFolder, type ServerProcess, startProcess } from '../start/server-process.js';
import { makeTarget, readerConfiguration, type Target } from './target.js';

const secret = 'the secret of a cluster that is only a test';
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const people = 4;

/** The queue on PostgreSQL always, and on Redis where it is installed, as in CI. */
const queues = hasRedis() ? (['postgres', 'redis'] as const) : (['postgres'] as const);

describe.each(queues)('two servers and two workers over one PostgreSQL, queue on %s', (queue) => {
  let target: Target;
  let folder: Folder;
  let redis: RedisServer | undefined;
  let environment: Record<string, string>;
  const processes: ServerProcess[] = [];
  const servers: { process: ServerProcess; url: string }[] = [];
  const clients: { ask: BelayClient[]; approve: BelayClient[] } = { ask: [], approve: [] };

  async function startServer() {
    const process = startProcess(folder.path, { ...environment, BELAY_WORKER: 'off' });
    processes.push(process);
    await process.says('is ready at');
    servers.push({ process, url: /ready at (\S+)/.exec(process.stdout())?.[1] ?? '' });
  }

  async function startWorker() {
    const worker = startProcess(folder.path, {
      ...environment,
      BELAY_WORKER: 'only',
      BELAY_BASE_URL: 'http://127.0.0.1:8080',
    });
    processes.push(worker);
    await worker.says('Belay');
    return worker;
  }

  beforeAll(async () => {
    target = await makeTarget(people);
    redis = queue === 'redis' ? await startRedis() : undefined;
    folder = await makeFolder({ 'belay.yaml': readerConfiguration(target, { before: approval }) });
    environment = {
      DATABASE_URL: target.databaseUrl,
      BELAY_SECRET: secret,
      LOG_LEVEL: 'error',
      TARGET_URL: target.url,
      ...(redis ? { REDIS_URL: `redis://127.0.0.1:${redis.port}` } : {}),
    };
    await Promise.all([startServer(), startServer()]);
    await Promise.all([startWorker(), startWorker()]);
    const operator = await openOperatorContext({
      environment: parseEnvironment(environment),
      name: 'test',
      log: quiet,
    });
    const tokenOf = async (user: string, groups: string[]) =>
      (await createToken(operator.context, { user, groups, ttl: 'PT1H' })).token;
    for (const [index, identity] of target.identities.entries()) {
      const url = servers[index % servers.length]?.url ?? '';
      clients.ask.push(createClient({ url, token: await tokenOf(`${identity}@example.com`, ['engineers']) }));
      clients.approve.push(createClient({ url, token: await tokenOf('boss@example.com', ['approvers']) }));
    }
    await operator.close();
  });

  afterAll(async () => {
    for (const process of processes) await process[Symbol.asyncDispose]();
    await redis?.stop();
    await folder[Symbol.asyncDispose]();
    await target[Symbol.asyncDispose]();
  });

  /** Requests as one person, approves on the other server, and returns the execution's id. */
  async function elevate(index: number, duration: string): Promise<string> {
    const { output } = await at(clients.ask, index).elevation.request({ role: 'reader', reason: 'a test', duration });
    const id = output.execution_id;
    const approver = at(clients.approve, index + 1);
    const item = await vi.waitFor(async () => {
      const { approvals } = await approver.approvals.list();
      const found = approvals.find((approval) => approval.execution_id === id);
      expect(found).toBeDefined();
      return found;
    }, waiting);
    await approver.approvals.decide({ id: item?.id ?? '', verdict: 'approve', request_digest: item?.request_digest });
    return id;
  }

  async function isOver(id: string, index: number) {
    await vi.waitFor(async () => {
      const execution = await at(clients.ask, index).executions.get(id);
      expect(execution).toMatchObject({ status: 'completed', grants: [{ state: 'gone' }] });
    }, waiting);
  }

  it('requests on one server, decides on the other, and either worker grants and revokes', async () => {
    const ids = await Promise.all(target.identities.map((_, index) => elevate(index, 'PT4S')));
    await vi.waitFor(async () => expect(await target.members()).toEqual([...target.identities].sort()), waiting);
    await Promise.all(ids.map((id, index) => isOver(id, index)));
    expect(await target.members()).toEqual([]);
  });

  async function killWorkerInTheMiddle() {
    const ids = await Promise.all(target.identities.map((_, index) => elevate(index, 'PT3S')));
    const killed = processes.at(-1);
    killed?.process.kill('SIGKILL');
    await killed?.exited;
    await Promise.all(ids.map((id, index) => isOver(id, index)));
    expect(await target.members()).toEqual([]);
    await startWorker();
  }

  // This waits up to 45 s, until the lease of the dead worker ends. One queue is enough: the queue is not involved.
  if (queue === queues.at(-1)) {
    const guarantee = 'goes on when a worker is killed with -9 in the middle, and revokes what it granted';
    it(guarantee, killWorkerInTheMiddle, 120_000);
  }

  it('revokes what expired while no worker ran, as soon as one starts', async () => {
    const id = await elevate(0, 'PT3S');
    await vi.waitFor(async () => {
      expect((await at(clients.ask, 0).executions.get(id)).grants).toMatchObject([{ state: 'active' }]);
    }, waiting);
    const workers = processes.filter((process) => !servers.some((server) => server.process === process));
    for (const worker of workers) worker.process.kill('SIGKILL');
    await Promise.all(workers.map((worker) => worker.exited));
    await vi.waitFor(async () => {
      const [held] = (await at(clients.ask, 0).executions.get(id)).grants;
      expect(held?.state).toBe('ended');
    }, waiting);
    expect(await target.members()).toEqual([target.identities[0]]);
    await startWorker();
    await isOver(id, 0);
    expect(await target.members()).toEqual([]);
  });

  it('answers on the other server when one is killed', async () => {
    const [first] = servers;
    first?.process.process.kill('SIGKILL');
    await first?.process.exited;
    const { output } = await at(clients.ask, 1).elevation.request({ role: 'reader', reason: 'a test' });
    expect(await at(clients.ask, 1).executions.cancel(output.execution_id)).toMatchObject({ status: 'ok' });
    await expect(at(clients.ask, 0).roles.list()).rejects.toSatisfy((error: unknown) => isBelayError(error, 'network'));
  });
});

const waiting = { timeout: 60_000, interval: 100 };

function at<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length];
  if (item === undefined) throw new Error('No such item');
  return item;
}

const approval = `
        - approve: { call: access.approve, with: { stages: [{ approvers: { groups: [approvers] } }] } }
        - decide: { switch: [{ denied: { when: '.approved == false', then: end } }] }`;
