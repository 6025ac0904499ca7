import { lstat, readdir, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/** The major version of the platform package. */
const MAJOR_VERSION = '18';

/**
 * Returns the real path of the cluster that `folder` is or points to; undefined when there is none yet.
 *
 * @throws EmbeddedPostgresError `other_version` for another major version, `not_writable` for another account's folder,
 * `start_failed` for a folder that is no cluster and for a link to a missing folder. The folder is left as it is.
 */
export async function inspectCluster(folder: string): Promise<string | undefined> {
  if (!(await lstat(folder).catch(() => undefined))) {
    return undefined;
  }
  const cluster = await realpath(folder).catch(() => undefined);
  if (cluster === undefined) {
    if ((await linkedHome(folder)) !== undefined) {
      return undefined;
    }
    throw new EmbeddedPostgresError(
      'start_failed',
      `The database folder ${folder} points to a folder that does not exist: restore it, or remove the link to start with an empty database.`,
    );
  }
  const owner = (await stat(cluster)).uid;
  const self = process.getuid?.();
  if (self !== undefined && self !== 0 && owner !== self) {
    throw new EmbeddedPostgresError(
      'not_writable',
      `The database folder ${cluster} belongs to another account (uid ${owner}): start as that account or as root, or use another data folder.`,
    );
  }
  if ((await readdir(cluster)).length === 0) {
    return undefined;
  }
  const version = await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (version === undefined) {
    throw new EmbeddedPostgresError(
      'start_failed',
      `The folder ${cluster} is not a PostgreSQL database: move it away, or use another data folder.`,
    );
  }
  if (version.trim() !== MAJOR_VERSION) {
    throw new EmbeddedPostgresError(
      'other_version',
      `The database in ${cluster} is of PostgreSQL ${version.trim()}, and this is PostgreSQL ${MAJOR_VERSION}: dump it with pg_dumpall of that version and restore it, or move the folder away to start with an empty database.`,
    );
  }
  return cluster;
}

/**
 * Returns the folder for the cluster to which an unfinished start has left a link; undefined when that folder or the
 * link does not exist.
 */
export async function linkedHome(folder: string): Promise<string | undefined> {
  const target = await readlink(folder).catch(() => undefined);
  return target === undefined ? undefined : realpath(dirname(target)).catch(() => undefined);
}
