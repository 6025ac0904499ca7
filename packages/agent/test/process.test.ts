import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startDemoIdentityProvider } from '@belay/demo';
import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { findTestPort } from '@belay/testkit/ports';
import { people } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type Folder,
  makeFolder,
  refuseHere,
  type ServerProcess,
  startProcess,
} from '../../server/test/start/server-process.js';
import { callLocal, signInAt } from './support/local.js';

const cli = fileURLToPath(new URL('../../../apps/cli/bundle/main.js', import.meta.url));
const run = promisify(execFile);
/** Enough requests to show memory that grows with each of them, and the number of kills in a row; CI uses the larger numbers. */
const requests = process.env.CI ? 5_000 : 2_000;
const kills = process.env.CI ? 4 : 2;
const patience = { timeout: 30_000, interval: 100 };

let idp: Awaited<ReturnType<typeof startDemoIdentityProvider>>;
let database: TestDatabase;
let home: Folder;
let machine: Folder;
let server: ServerProcess;
let agent: ServerProcess;
let serverUrl = '';
let agentUrl = '';
let agentPort = 0;
let credential = '';
const secrets = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')] as const;
const client = { client_id: 'belay', client_secret: randomBytes(24).toString('hex') };

const configuration = (description: string) => `version: '1'
providers:
  demo:
    provider: oidc
    config:
      issuer: ${idp.issuer}
      client_id: ${client.client_id}
      client_secret: ${client.client_secret}
      scopes: [openid, profile, email, groups]
      groups_claim: groups
      allow_insecure_issuer: true
  store: { provider: postgres, config: { url: 'postgres://belay@127.0.0.1:9/nothing', identity: email } }
roles:
  reader:
    description: ${description}
    providers: [store]
    inherits: ['store:reader']
    workflows: [grant]
    permissions: { groups: [engineers] }
workflows:
  grant:
    description: Grants
    workflow:
      document: { dsl: 1.0.3, namespace: test, name: grant, version: 1.0.0 }
      do: [{ grant: { call: access.grant } }]
`;
const startServer = async (environment: Record<string, string>) => {
  const started = startProcess(home.path, {
    PORT: new URL(serverUrl).port,
    DATABASE_URL: database.url,
    ...environment,
  });
  await started.says('Database');
  return started;
};
const startAgent = async (environment: Record<string, string> = {}) => {
  const started = startProcess(machine.path, {
    BELAY_MODE: 'agent',
    PORT: String(agentPort),
    BELAY_KEYRING: 'off',
    BELAY_SYNC_SECONDS: '0.3',
    ...environment,
  });
  await started.says('Store');
  return started;
};
const call = (path: string) => callLocal(agentUrl, 'GET', path);
const health = async () =>
  (await call('/health')).json as { status: string; configuration: { version: string; server: string; age: string } };
const description = async () =>
  ((await call('/roles')).json as { roles: Record<string, { role: { description: string } }> }).roles.reader?.role
    .description;

beforeAll(async () => {
  database = await createTestDatabase();
  home = await makeFolder();
  machine = await makeFolder();
  serverUrl = `http://127.0.0.1:${await findTestPort()}`;
  agentPort = await findTestPort();
  agentUrl = `http://127.0.0.1:${agentPort}`;
  idp = await startDemoIdentityProvider({
    port: 0,
    host: '127.0.0.1',
    people: Object.values(people).map((person) => ({ ...person, groups: [...person.groups] })),
    clients: [{ ...client, redirect_uris: [`${serverUrl}/api/v1/auth/callback/demo`] }],
    cookieKeys: [randomBytes(24).toString('hex')],
    log: () => {},
  });
  await home.write('belay.yaml', configuration('First'));
  server = await startServer({ BELAY_SECRET: secrets[0] });
  const { stdout } = await run(process.execPath, [cli, 'agent', 'enroll', '--name', 'laptop', '--ttl', 'P1D'], {
    cwd: home.path,
    env: { PATH: process.env.PATH, HOME: home.path, DATABASE_URL: database.url, BELAY_SECRET: secrets[0] },
  });
  credential = stdout.trim();
  agent = await startAgent({ BELAY_SERVER: serverUrl, BELAY_AGENT_CREDENTIAL: credential });
});
afterAll(async () => {
  await agent?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  await idp?.close();
  await machine?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

describe('agent and server as two processes', () => {
  it('enrols, signs in through the server, and shows what that person can request', async () => {
    expect((await call('/ready')).json).toMatchObject({ status: 'ready', configuration: { version: '1.0.1' } });
    const page = await signInAt(serverUrl, agentUrl, 'requester');
    expect([page.status, page.body]).toEqual([200, expect.stringContaining('rita@example.test')]);
    expect(await description()).toBe('First');
  });

  it('picks a change of the configuration up', async () => {
    await home.write('belay.yaml', configuration('Second'));
    await vi.waitFor(async () => expect(await description()).toBe('Second'), patience);
  });

  it(`keeps no more than 120 MB, after ${requests} requests as well`, async () => {
    const keepAlive = new Agent({ keepAlive: true, maxSockets: 4 });
    const once = (path: string) =>
      new Promise<void>((resolve, reject) => {
        get(
          { host: '127.0.0.1', port: agentPort, path, agent: keepAlive, headers: { accept: 'application/json' } },
          (answer) => {
            answer.resume();
            answer.once('end', () => resolve());
          },
        ).once('error', reject);
      });
    for (let turn = 0; turn < requests / 4; turn++)
      await Promise.all(['/roles', '/sessions', '/health', '/workflows'].map(once));
    const megabytes = async () => {
      const status = await readFile(`/proc/${agent.process.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
    };
    // The garbage of the requests does not count; when the process is idle, it stays for up to twenty seconds.
    if (process.platform === 'linux')
      await expect.poll(megabytes, { timeout: 60_000, interval: 500 }).toBeLessThan(120);
    keepAlive.destroy();
  });

  it('goes on while the server is away, and goes along with a new key when it is back', async () => {
    await server[Symbol.asyncDispose]();
    await vi.waitFor(
      async () => expect((await health()).configuration.server).toContain('cannot be reached'),
      patience,
    );
    expect(await description()).toBe('Second');
    expect((await health()).configuration.age).toMatch(/^PT/);
    server = await startServer({ BELAY_SECRET: secrets[1], BELAY_SECRET_PREVIOUS: secrets[0] });
    await vi.waitFor(async () => expect((await health()).configuration.server).toBe('reachable'), patience);
    expect((await call('/logs?type=key.rotated')).json.logs).toHaveLength(1);
    await home.write('belay.yaml', configuration('Third'));
    await vi.waitFor(async () => expect(await description()).toBe('Third'), patience);
  });

  it('loses no stored state when it is killed at any point', async () => {
    const held = (await call('/session/demo')).json;
    expect(held).toMatchObject({ session: { session: expect.any(String) } });
    for (let turn = 0; turn < kills; turn++) {
      await home.write('belay.yaml', configuration(`Turn ${turn}`));
      // A signal starts a refresh, and the process is killed during it.
      agent.process.kill('SIGHUP');
      agent.process.kill('SIGKILL');
      await agent.exited;
      agent = await startAgent();
      expect((await call('/ready')).status).toBe(200);
      expect((await call('/session/demo')).json).toMatchObject({ session: { version: expect.any(Number) } });
      await vi.waitFor(async () => expect(await description()).toBe(`Turn ${turn}`), patience);
    }
    const names = await readdir(join(machine.path, '.belay'));
    expect(names.filter((name) => /unfinished|damaged/.test(name))).toEqual([]);
  });

  it('says that its port is taken, and whose folder it would be, and starts nothing', async () => {
    await using other = await makeFolder();
    const taken = await refuseHere(other.path, {
      BELAY_MODE: 'client',
      BELAY_SERVER: serverUrl,
      PORT: String(agentPort),
      BELAY_KEYRING: 'off',
    });
    expect([taken.code, taken.stderr]).toEqual([
      1,
      expect.stringContaining(`PORT: ${agentPort} on 127.0.0.1 is in use`),
    ]);
    const second = startProcess(machine.path, { BELAY_MODE: 'agent', PORT: '0', BELAY_KEYRING: 'off' });
    expect(await second.exited).toBe(1);
    expect(second.stderr()).toContain(`in use by another agent (pid ${agent.process.pid})`);
    const wide = await refuseHere(other.path, { BELAY_MODE: 'agent', HOST: '0.0.0.0' });
    const why = expect.stringContaining('HOST is "0.0.0.0": an agent is for this machine only');
    expect([wide.code, wide.stderr]).toEqual([1, why]);
  });
});
