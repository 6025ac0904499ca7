import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FaultyProxy, startFaultyProxy } from '../../../../chaos/src/faulty-proxy.js';
import { type Folder, makeFolder, startProcess } from './server-process.js';

const secret = 'a secret for tests that is long enough';

describe('a start while connections to the database are lost', () => {
  let database: TestDatabase;
  let proxy: FaultyProxy;
  let folder: Folder;
  let url: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    const target = new URL(database.url);
    proxy = await startFaultyProxy({ host: target.hostname, port: Number(target.port) });
    target.hostname = '127.0.0.1';
    target.port = String(proxy.port);
    url = target.href;
    folder = await makeFolder({ 'belay.yaml': 'version: 1\n' });
  });
  afterAll(async () => {
    await folder[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });
  const start = () => startProcess(folder.path, { DATABASE_URL: url, BELAY_SECRET: secret });

  it.each([2, 20, 45, 80])('starts although a connection is reset once, at chunk %d', async (chunk) => {
    proxy.loseAfter(chunk, 'reset');
    await using server = start();
    await server.says('Database');
    server.process.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(server.stderr()).toBe('');
  });

  it.each([0, 4, 12, 25])(
    'names the loss, and nothing else, when every answer after the first %d is lost',
    async (kept) => {
      let answers = 0;
      proxy.loseAnswers(() => ++answers > kept);
      await using server = start();
      expect(await server.exited).toBe(1);
      proxy.loseAnswers(undefined);
      const { host } = new URL(url);
      expect(server.stderr()).toMatch(
        new RegExp(
          `^belay: DATABASE_URL: the connection to the database at ${host} was lost \\([A-Z_]+\\); check that`,
        ),
      );
      expect(server.stderr().trimEnd()).not.toContain('\n');
    },
  );
});
