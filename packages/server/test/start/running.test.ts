import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeFolder, refuseHere, startHere, startProcess } from './server-process.js';

let database: TestDatabase;
const secret = 'a secret for tests that is long enough';
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

function external(): Record<string, string> {
  return { DATABASE_URL: database.url, BELAY_SECRET: secret };
}

async function addressOf(server: { stdout(): string }): Promise<string> {
  const address = /is ready at (\S+)/.exec(server.stdout())?.[1];
  if (address === undefined) throw new Error(server.stdout());
  return address;
}

describe('a server that runs', () => {
  it('with nothing at all is the demo: it says where to go, who can sign in and how to go on; kill -9 loses nothing', async () => {
    await using folder = await makeFolder();
    const first = startProcess(folder.path);
    await first.says('Database');
    for (const text of ['Rita Requester', 'engineers', 'Adam Approver', 'approvers', 'Bea Bystander', 'npm run demo']) {
      expect(first.stdout()).toContain(text);
    }
    const data = join(folder.path, '.belay');
    const keptSecret = await readFile(join(data, 'secret'), 'utf8');
    const demo = await readFile(join(data, 'demo.json'), 'utf8');
    for (const name of ['secret', 'demo.json']) expect((await stat(join(data, name))).mode & 0o777).toBe(0o600);
    first.process.kill('SIGKILL');
    expect(await first.exited).toBe('SIGKILL');

    await using second = startHere(folder.path);
    await second.says('Database');
    for (const path of ['/health', '/ready', '/metrics', '/.well-known/api-configuration', '/api/v1/auth']) {
      expect([path, (await fetch(`${await addressOf(second)}${path}`)).status]).toEqual([path, 200]);
    }
    expect(await readFile(join(data, 'secret'), 'utf8')).toBe(keptSecret);
    const again = JSON.parse(await readFile(join(data, 'demo.json'), 'utf8'));
    expect(again.secrets).toEqual(JSON.parse(demo).secrets);
    expect((await fetch(`${again.issuer}/.well-known/openid-configuration`)).status).toBe(200);
    expect(await second.stop()).toBe(0);
    expect(existsSync(join(data, 'postgres', 'postmaster.pid'))).toBe(false);
    expect(second.stderr()).toBe('');
  });

  it('grants nothing from its start on when its database was restored meanwhile, also without a worker', async () => {
    await using folder = await makeFolder({ 'belay.yaml': 'version: 1\n' });
    const environment = { ...external(), BELAY_WORKER: 'off' };
    await using first = startHere(folder.path, environment);
    await first.says('is ready at');
    expect(await first.stop()).toBe(0);
    expect(first.stdout()).not.toContain('was restored');
    const { sql } = database;
    await sql`update clusters set timeline = timeline - 1`;
    await using second = startHere(folder.path, environment);
    await second.says('the database was restored or replaced; nothing is granted until providers are compared');
    await second.says('is ready at');
    const [gate] = await sql`select closed_at is not null as closed, noticed from restores`;
    await sql`delete from restores`;
    expect(gate).toEqual({ closed: true, noticed: true });
  });

  it('keeps a connection without a request for 650 seconds behind a proxy, and for 5 seconds otherwise', async () => {
    await using folder = await makeFolder({ 'belay.yaml': 'version: 1\n' });
    const kept = async (variables: Record<string, string>) => {
      await using server = startHere(folder.path, { ...external(), BELAY_WORKER: 'off', ...variables });
      await server.says('is ready at');
      return (await fetch(`${await addressOf(server)}/ready`)).headers.get('keep-alive');
    };
    expect([await kept({}), await kept({ BELAY_TRUST_PROXY: '1' })]).toEqual(['timeout=5', 'timeout=650']);
  });

  it('takes changes of its configuration in force while it runs, and rejects broken ones with a line', async () => {
    await using folder = await makeFolder({ 'belay.yaml': 'version: 1\n' });
    await using server = startHere(folder.path, external());
    const file = join(folder.path, 'belay.yaml');
    await server.says(`Configuration  ${file}`);
    await folder.write('belay.yaml', 'version: 2\n');
    await server.says('the configuration changed and is active');
    await folder.write('belay.yaml', 'rolls: {}\n');
    await server.says(`the configuration was rejected and the previous one stays active: ${file}:1:1: `);
    expect((await fetch(`${await addressOf(server)}/ready`)).status).toBe(200);
  });

  it('never gives the demo to a database that has a configuration; a worker alone goes by what is stored', async () => {
    await using configured = await makeFolder({ 'belay.yaml': 'version: 3\n' });
    await using before = startHere(configured.path, external());
    const file = join(configured.path, 'belay.yaml');
    await before.says(`Configuration  ${file}`);
    expect(await before.stop()).toBe(0);
    await using folder = await makeFolder();
    const refused = await refuseHere(folder.path, external());
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(
      `the database has the configuration of ${file}; start in its folder, or set BELAY_CONFIG`,
    );
    await using worker = startHere(folder.path, {
      ...external(),
      BELAY_WORKER: 'only',
      BELAY_BASE_URL: 'http://127.0.0.1:8080',
    });
    await worker.says('Configuration  stored');
    expect(worker.stdout()).toContain('runs as a worker without HTTP');
  });

  it('leaves an embedded database up that a second process uses, whichever of them stops first', async () => {
    await using folder = await makeFolder({ 'belay.yaml': 'version: 1\n' });
    const first = startProcess(folder.path);
    await first.says('Database');
    await using second = startHere(folder.path);
    await second.says('Database');
    first.process.kill('SIGTERM');
    expect(await first.exited).toBe(0);
    expect((await fetch(`${await addressOf(second)}/ready`)).status).toBe(200);
  });
});
