import { chmod, mkdir, realpath, rmdir, stat, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runProgram } from '@belay/host';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import type { ServerUser } from './ensure-account.js';
import { linkedHome } from './inspect-cluster.js';

interface PrepareDataFolderOptions {
  dataDirectory: string;
  /** The real path of the cluster, when there is one. */
  existing: string | undefined;
  user: ServerUser | undefined;
  token: string;
  /** The folder for a cluster when root's data folder is closed to the server's account. */
  sharedFolder: string;
  log(line: string): void;
}

/**
 * Returns a folder that the server's account can pass into, for the cluster and for copied programs: the one that
 * contains the existing cluster; else the data folder itself; or a new one below the shared folder when root's data
 * folder lies in a folder that is closed to that account, because Belay does not open a person's home folder. Throws
 * when the shared folder is on another file system: the data folder may be a volume that outlives the machine, and the
 * database must not silently be outside of it.
 *
 * @throws EmbeddedPostgresError `not_writable`, naming the folder to open or to use.
 */
export async function prepareDataFolder(options: PrepareDataFolderOptions): Promise<string> {
  const { existing, user } = options;
  const folder = existing === undefined ? options.dataDirectory : dirname(existing);
  if (user === undefined || (await canReach(folder, user))) {
    return folder;
  }
  if ((await realpath(options.dataDirectory)) === (await realpath(folder)) && (await canReach(dirname(folder), user))) {
    // Passing through is enough: the account still cannot list the folder, and the secrets in it have mode 0600.
    await chmod(folder, (await stat(folder)).mode | 0o011);
    return folder;
  }
  if (existing !== undefined) {
    throw notReachable(options, { folder, user });
  }
  const link = join(folder, 'postgres');
  const home = (await linkedHome(link)) ?? (await makeHome(options, user));
  if (!(await canReach(home, user))) {
    throw notReachable(options, { folder, user });
  }
  options.log(
    `the database is in ${join(home, 'postgres')}, because ${folder} is closed to the account it runs as (uid ${user.uid})`,
  );
  return home;
}

/**
 * Creates a folder below the shared folder, and a link to the cluster that will be in it, which later starts follow.
 */
async function makeHome(options: PrepareDataFolderOptions, user: ServerUser): Promise<string> {
  const { sharedFolder } = options;
  const home = join(sharedFolder, options.token);
  const link = join(options.dataDirectory, 'postgres');
  try {
    await mkdir(home, { recursive: true, mode: 0o711 });
    await chmod(sharedFolder, 0o711);
    await chmod(home, 0o711);
    if ((await stat(home)).dev === (await stat(options.dataDirectory)).dev) {
      // An empty folder may already exist. If it has content, creating the link fails, as it should.
      await rmdir(link).catch(() => undefined);
      await symlink(join(home, 'postgres'), link);
      return home;
    }
    await rmdir(home);
  } catch (cause) {
    throw notReachable(options, { folder: options.dataDirectory, user }, cause);
  }
  throw notReachable(options, { folder: options.dataDirectory, user });
}

/**
 * Creates the data folder when it is missing.
 *
 * @throws EmbeddedPostgresError `not_writable`.
 */
export async function createDataFolder(dataDirectory: string): Promise<void> {
  try {
    await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw notWritable(dataDirectory, cause);
  }
}

/** Returns the error for a data folder that this account cannot write in. */
export function notWritable(folder: string, cause: unknown): EmbeddedPostgresError {
  const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
  return new EmbeddedPostgresError(
    'not_writable',
    `The data folder ${folder} cannot be written (${reason}): chown the folder to this account, or use another one.`,
    { cause },
  );
}

function notReachable(
  options: PrepareDataFolderOptions,
  place: { folder: string; user: ServerUser },
  cause?: unknown,
): EmbeddedPostgresError {
  const { folder, user } = place;
  return new EmbeddedPostgresError(
    'not_writable',
    `PostgreSQL does not run as root, and the account it runs as (uid ${user.uid}) cannot reach ${folder}: make its parent folders accessible to all users (chmod o+x), or use a data folder such as ${options.sharedFolder}.`,
    { cause },
  );
}

/**
 * Returns whether `user` can pass into a folder. Runs a shell as that user, because mode bits do not show access control lists,
 * mounts and security modules.
 */
async function canReach(folder: string, user: ServerUser): Promise<boolean> {
  return (await runProgram('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], user)).code === 0;
}
