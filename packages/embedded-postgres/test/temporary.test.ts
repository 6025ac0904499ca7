import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { startTemporaryPostgres } from '../src/index.js';
import { query } from './support/start.js';

it('a temporary server is not durable, and leaves neither a process nor a folder behind', async () => {
  const server = await startTemporaryPostgres();
  try {
    await server.ensureDatabase('scratch');
    const [row] = await query<{ fsync: string; folder: string }>(
      server.url('scratch'),
      `select current_setting('fsync') as fsync, current_setting('data_directory') as folder`,
    );
    expect(row?.fsync).toBe('off');
    await Promise.all([server.stop(), server.stop()]);
    expect(existsSync(dirname(row?.folder ?? '/'))).toBe(false);
    await expect(query(server.url('scratch'), 'select 1')).rejects.toThrow();
  } finally {
    await server.stop();
  }
});
