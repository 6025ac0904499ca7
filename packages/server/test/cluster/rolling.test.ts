import { createToken } from '@belay/core';
import { openOperatorContext, parseEnvironment } from '@belay/operations';
import { createClient } from '@belay/sdk';
import { findTestPort } from '@belay/testkit/ports';
import { Agent, setGlobalDispatcher } from 'undici';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Folder, makeFolder, type ServerProcess, startProcess } from '../start/server-process.js';
import { type Front, proxies } from './proxies.js';
import { makeTarget, readerConfiguration, type Target } from './target.js';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

describe('two servers and two workers behind a proxy', () => {
  let target: Target;
  let folder: Folder;
  let environment: Record<string, string>;
  let token: string;
  const ports: number[] = [];
  const servers = new Map<number, ServerProcess>();
  const workers: ServerProcess[] = [];

  async function startServer(port: number) {
    const server = startProcess(folder.path, { ...environment, PORT: String(port), BELAY_WORKER: 'off' }, 'server');
    servers.set(port, server);
    await server.says('is ready at');
  }

  async function startWorker() {
    const worker = startProcess(
      folder.path,
      { ...environment, BELAY_WORKER: 'only', BELAY_BASE_URL: 'http://127.0.0.1:8080' },
      'server',
    );
    workers.push(worker);
    await worker.says('Belay');
  }

  beforeAll(async () => {
    // The proxies use self-signed certificates in this test.
    setGlobalDispatcher(new Agent({ connect: { rejectUnauthorized: false } }));
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    target = await makeTarget(1);
    folder = await makeFolder({ 'belay.yaml': readerConfiguration(target, noter(target)) });
    environment = {
      DATABASE_URL: target.databaseUrl,
      BELAY_SECRET: 'the secret of servers that are only a test',
      BELAY_TRUST_PROXY: '1',
      BELAY_DRAIN_SECONDS: '3',
      LOG_LEVEL: 'error',
      TARGET_URL: target.url,
    };
    for (let index = 0; index < 2; index++) ports.push(await findTestPort());
    // Both start at once on an empty database: one migrates it, and the other waits.
    await Promise.all(ports.map(startServer));
    await Promise.all([startWorker(), startWorker()]);
    const operator = await openOperatorContext({
      environment: parseEnvironment(environment),
      name: 'test',
      log: quiet,
    });
    const user = `${target.identities[0]}@example.com`;
    token = (await createToken(operator.context, { user, groups: ['engineers'], ttl: 'PT1H' })).token;
    await operator.close();
  });

  afterAll(async () => {
    for (const process of [...servers.values(), ...workers]) await process[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
    await target[Symbol.asyncDispose]();
  });

  /** Sends requests until it is stopped, each once, and keeps those that got an unexpected status. */
  function load(url: string) {
    const lost: string[] = [];
    let done = 0;
    let going = true;
    const send = async (path: string, status: number, body?: object) => {
      const headers = { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) };
      const init = body ? { method: 'POST', body: JSON.stringify(body), headers } : { headers };
      const [code, text] = await fetch(`${url}/api/v1${path}`, init).then(
        async (answer) => [answer.status, await answer.text()] as const,
        (error: Error) => [0, `${error.message} ${String(error.cause)}`] as const,
      );
      if (code === status) done += 1;
      else lost.push(`${path}: ${code} ${text}`);
    };
    const reading = async () => {
      while (going) await send('/roles', 200);
    };
    // Requests that a proxy does not repeat, and whose result is stored.
    const writing = async () => {
      while (going) await send('/elevate', 200, { role: 'noter', reason: 'a test' });
    };
    const all = Promise.all([reading(), reading(), writing(), writing()]);
    return {
      done: () => done,
      async stop() {
        going = false;
        await all;
        return { lost, done };
      },
    };
  }

  describe.each(proxies)('$name', ({ start }) => {
    let proxy: Front;
    beforeAll(async () => {
      proxy = await start(ports);
    });
    afterAll(() => proxy[Symbol.asyncDispose]());

    it('loses no request while each server is replaced', async () => {
      const running = load(proxy.url);
      for (const port of ports) {
        await vi.waitFor(() => expect(running.done()).toBeGreaterThan(20), waiting);
        const server = servers.get(port);
        server?.process.kill('SIGTERM');
        // Readiness is the first to change; requests are still served.
        await vi.waitFor(async () => expect((await fetch(`http://127.0.0.1:${port}/ready`)).status).toBe(503), waiting);
        expect(await server?.exited).toBe(0);
        await startServer(port);
        // The proxy must use this server again before the other server is stopped.
        await vi.waitFor(async () => {
          const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
          expect(((await answer.json()) as { total_requests: number }).total_requests).toBeGreaterThan(100);
        }, waiting);
      }
      const { lost, done } = await running.stop();
      expect(lost.join('\n')).toBe('');
      expect(done).toBeGreaterThan(100);
    });

    it('counts a client by its own address, not by the one in a forged header', async () => {
      const answers = new Set<number>();
      for (let index = 0; index < 700 && !answers.has(429); index++) {
        const headers = { 'x-forwarded-for': `198.51.100.${index % 250}`, forwarded: `for=198.51.100.${index % 250}` };
        answers.add((await fetch(`${proxy.url}/api/v1/auth/request/none`, { headers, redirect: 'manual' })).status);
      }
      expect(answers).toContain(429);
    });
  });

  it('ends what it grants when a worker gets SIGTERM during a grant', async () => {
    const client = createClient({ url: `http://127.0.0.1:${ports[0]}`, token });
    const { output } = await client.elevation.request({ role: 'reader', reason: 'a test', duration: 'PT5S' });
    const [first] = workers;
    first?.process.kill('SIGTERM');
    expect(await first?.exited).toBe(0);
    await vi.waitFor(async () => {
      const execution = await client.executions.get(output.execution_id);
      expect(execution).toMatchObject({ status: 'completed', grants: [{ state: 'gone' }] });
    }, waiting);
    expect(await target.members()).toEqual([]);
  });
});

const waiting = { timeout: 60_000, interval: 100 };

/** A role whose workflow grants nothing. */
const noter = (target: Target) => ({
  roles: `
  noter:
    providers: [target]
    inherits: ['target:${target.role}']
    permissions: { groups: [engineers] }
    workflows: [note]`,
  workflows: `
  note:
    workflow:
      document: { dsl: '1.0.3', namespace: test, name: note, version: 1.0.0 }
      do:
        - note: { set: { seen: true } }`,
});
