import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, delay, randomBytes } from '@belay/program';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hasEmbeddedDatabase } from '../src/diagnose/inspect-database.js';
import { openStorage } from '../src/open-storage.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'belay-storage-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const log = createLogger({ level: 'silent', readable: false, write: () => {} });
const open = (dataDirectory: string) => openStorage({ databaseUrl: undefined, dataDirectory, log, randomBytes, delay });

it('a data folder that cannot be written names BELAY_DATA', async () => {
  await writeFile(join(folder, 'file'), '');
  await expect(open(join(folder, 'file'))).rejects.toMatchObject({
    name: 'StartError',
    message: expect.stringMatching(/^The data folder .* cannot be written .*BELAY_DATA/),
  });
});

it('a database that cannot be used names DATABASE_URL, to a start and to belay doctor', async () => {
  await mkdir(join(folder, 'postgres'));
  await writeFile(join(folder, 'postgres', 'other'), '');
  const fault = { name: 'StartError', message: expect.stringMatching(/is not a PostgreSQL database.*DATABASE_URL/) };
  await expect(open(folder)).rejects.toMatchObject(fault);
  await expect(hasEmbeddedDatabase(folder)).rejects.toMatchObject(fault);
});
