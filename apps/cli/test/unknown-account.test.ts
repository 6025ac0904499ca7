import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestDatabase } from '@belay/testkit/database';
import { expect, it } from 'vitest';

const program = fileURLToPath(new URL('../bundle/main.js', import.meta.url));
/** A number for which no machine has an account, as containers run with one of their own. */
const uid = 54_321;

// Only root can run a program as another account.
it.runIf(process.getuid?.() === 0)(
  'operators’ commands run for an account that the machine does not know, and without HOME',
  async () => {
    await using database = await createTestDatabase();
    const folder = await mkdtemp(path.join(tmpdir(), 'belay-account-'));
    try {
      const configuration = path.join(folder, 'belay.yaml');
      await writeFile(configuration, 'roles: {}\n');
      const env = {
        PATH: process.env.PATH ?? '',
        DATABASE_URL: database.url,
        BELAY_SECRET: 'a secret of a test that is long enough',
        BELAY_CONFIG: configuration,
        LOG_LEVEL: 'warn',
      };
      await promisify(execFile)('chmod', ['-R', 'a+rX', folder]);
      const belay = async (args: string[], more: Record<string, string> = {}) =>
        promisify(execFile)(process.execPath, [program, ...args], {
          uid,
          gid: uid,
          cwd: '/',
          env: { ...env, ...more },
        });
      const create = ['token', 'create', '--user', 'ops@example.com', '--ttl', 'PT1H'];
      const homes: Record<string, string>[] = [{}, { HOME: '/' }, { HOME: '/nowhere' }];
      for (const home of homes) expect((await belay(create, home)).stdout).toMatch(/^\S{20,}\n$/);
      expect((await belay(['--version'])).stdout).toMatch(/\d/);
      expect((await belay(['validate'])).stdout).toBeDefined();
      const entries = await database.sql`select distinct actor ->> 'name' as by from ledger where type = 'token.created'`;
      expect(entries.map(({ by }) => by)).toEqual([`uid ${uid}`]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);
