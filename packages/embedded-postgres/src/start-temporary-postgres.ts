import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bringUp, type EmbeddedPostgres, type StartEmbeddedPostgresOptions } from './bring-up.js';
import { defaults, explain, settle } from './postgres.js';

/**
 * Starts a server on a new folder below the system's temporary one; stop() also removes the folder. For tests: it is NOT
 * durable (fsync is off), so a crash of the machine may lose everything, while a kill of its processes loses nothing.
 */
export async function startTemporaryPostgres(
  options: Omit<StartEmbeddedPostgresOptions, 'dataDirectory'> = {},
): Promise<EmbeddedPostgres> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'embedded-postgres-'));
  const remove = () => rm(dataDirectory, { recursive: true, force: true });
  try {
    const server = await bringUp({ ...defaults, ...options, ...settle(options), dataDirectory, durable: false });
    let stopping: Promise<void> | undefined;
    return {
      ...server,
      stop: () => {
        stopping ??= server.stop().finally(remove);
        return stopping;
      },
    };
  } catch (error) {
    await remove();
    throw explain(error, dataDirectory);
  }
}
