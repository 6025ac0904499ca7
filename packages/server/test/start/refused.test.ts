import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Folder, makeFolder, refuseHere, startProcess } from './server-process.js';

let database: TestDatabase;
const secret = 'a secret for tests that is long enough';
const minimal = { 'belay.yaml': 'version: 1\n' };

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

/** Starts in this process, expects exit 1 with exactly one line on stderr and nothing on stdout, and returns the line. */
async function refusal(folder: Folder, env: Record<string, string>): Promise<string> {
  // This process does not change its working directory, so the configuration is named.
  const path = join(folder.path, 'belay.yaml');
  return lineOf(await refuseHere(folder.path, { ...(existsSync(path) ? { BELAY_CONFIG: path } : {}), ...env }));
}

/** Does the same in a process of its own. */
async function refusalOfProcess(
  folder: Folder,
  env: Record<string, string>,
  app: 'demo' | 'server' = 'demo',
): Promise<string> {
  const server = startProcess(folder.path, env, app);
  const code = await server.exited;
  return lineOf({ code, stdout: server.stdout(), stderr: server.stderr() });
}

function lineOf({ code, stdout, stderr }: { code: number | string; stdout: string; stderr: string }): string {
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  const lines = stderr.split('\n');
  expect(lines).toHaveLength(2);
  expect(lines[1]).toBe('');
  expect(lines[0]).toMatch(/^belay: /);
  return lines[0] ?? '';
}

function external(): Record<string, string> {
  return { DATABASE_URL: database.url, BELAY_SECRET: secret };
}

async function takePort(): Promise<{ port: number } & AsyncDisposable> {
  const taken = createServer();
  await new Promise<void>((listening) => taken.listen(0, '127.0.0.1', listening));
  const address = taken.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { port: address.port, [Symbol.asyncDispose]: () => new Promise((closed) => taken.close(() => closed())) };
}

describe('a start that cannot be', () => {
  it('names a wrong variable', async () => {
    await using folder = await makeFolder(minimal);
    expect(await refusalOfProcess(folder, { PORT: 'eighty' })).toContain(
      'PORT is "eighty": use a number from 1 to 65535',
    );
  });

  it('names an unreachable database, without its password', async () => {
    await using folder = await makeFolder(minimal);
    const line = await refusal(folder, {
      DATABASE_URL: 'postgres://belay:hunter2@127.0.0.1:1/belay',
      BELAY_SECRET: secret,
    });
    expect(line).toContain('DATABASE_URL: the database at 127.0.0.1:1 cannot be reached (ECONNREFUSED); start it');
    expect(line).not.toContain('hunter2');
  });

  it('names the revision to start first with a database that is too old to be upgraded', async () => {
    await using folder = await makeFolder(minimal);
    await using old = await createEmptyDatabase();
    await old.sql`create table migrations (id serial primary key, hash text not null, created_at bigint)`;
    await old.sql`insert into migrations (hash, created_at) values ('older', 1795669641732)`;
    expect(await refusal(folder, { ...external(), DATABASE_URL: old.url })).toBe(
      'belay: The schema of the database is older than this version of Belay can upgrade; start revision e1d42f42 of Belay with it once, then this version',
    );
  });

  it('names a database that does not exist, and credentials that are rejected', async () => {
    await using folder = await makeFolder(minimal);
    const nowhere = new URL(database.url);
    nowhere.pathname = '/nowhere';
    expect(await refusal(folder, { ...external(), DATABASE_URL: nowhere.href })).toContain(
      'there is no database "nowhere"',
    );
    const wrong = new URL(database.url);
    wrong.password = 'wrong';
    expect(await refusal(folder, { ...external(), DATABASE_URL: wrong.href })).toContain(
      `rejects the user "${wrong.username}"`,
    );
  });

  it('requires the secret when the database is not its own', async () => {
    await using folder = await makeFolder(minimal);
    const line = await refusal(folder, { DATABASE_URL: database.url });
    expect(line).toContain('BELAY_SECRET is not set');
    expect(line).toContain('openssl rand');
  });

  it.each([
    ['broken YAML', 'roles: [', /belay\.yaml:1:\d+: /],
    [
      'a role at a provider that is not there',
      'roles: { admin: { providers: [nowhere], workflows: [none] } }',
      /belay\.yaml:1:\d+: roles\.admin\..* \(and \d+ more: see belay validate\)/,
    ],
    [
      'a reference that has no value',
      'providers: { db: { provider: postgres, config: { url: "${env:NOT_SET_ANYWHERE}" } } }',
      /belay\.yaml:1:\d+: providers\.db\.config\.url: .*NOT_SET_ANYWHERE/,
    ],
  ])('names file, key and reason of %s', async (_what, text, message) => {
    await using folder = await makeFolder({ 'belay.yaml': text });
    expect(await refusal(folder, external())).toMatch(message);
  });

  it('names a configuration that is not there', async () => {
    await using folder = await makeFolder();
    expect(await refusal(folder, { ...external(), BELAY_CONFIG: 'none.yaml' })).toContain(
      'none.yaml: does not exist; create it',
    );
  });

  it('exits with 1 and names the cure when the server program finds no configuration', async () => {
    await using folder = await makeFolder();
    await using empty = await createTestDatabase();
    expect(await refusalOfProcess(folder, { ...external(), DATABASE_URL: empty.url }, 'server')).toBe(
      'belay: BELAY_CONFIG is not set and there is no belay.yaml or config/ here; write one, or start the demo with npm start',
    );
  });

  it('names a taken port', async () => {
    await using folder = await makeFolder(minimal);
    await using taken = await takePort();
    const line = await refusal(folder, { ...external(), PORT: String(taken.port) });
    expect(line).toContain(
      `PORT: ${taken.port} on 127.0.0.1 is in use; stop the program that uses it, or set PORT to another`,
    );
  });

  it('stops the embedded database again when it cannot go on', async () => {
    await using folder = await makeFolder(minimal);
    await using taken = await takePort();
    expect(await refusal(folder, { PORT: String(taken.port) })).toContain('is in use');
    expect(existsSync(join(folder.path, '.belay', 'postgres', 'PG_VERSION'))).toBe(true);
    expect(existsSync(join(folder.path, '.belay', 'postgres', 'postmaster.pid'))).toBe(false);
  });
});
