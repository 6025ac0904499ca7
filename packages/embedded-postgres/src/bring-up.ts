import { lchown, lstat, readdir, readFile, realpath, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { holdLock, replaceFile } from '@belay/host';
import postgres from 'postgres';
import { choosePort } from './choose-port.js';
import { chooseServerUser } from './choose-server-user.js';
import { createCluster } from './create-cluster.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import type { ServerUser } from './ensure-account.js';
import { findPlatformPackage } from './find-platform-package.js';
import { inspectCluster } from './inspect-cluster.js';
import type { Names } from './names.js';
import { adoptPostmaster, stopPostmaster } from './postmaster.js';
import { type Binaries, prepareBinaries } from './prepare-binaries.js';
import { createDataFolder, prepareDataFolder } from './prepare-data-folder.js';
import { readPassword } from './read-password.js';
import { LOG_FILE, startPostmaster } from './start-postmaster.js';
import { checkSettings, writeSettings } from './write-settings.js';

/** A running embedded server. */
export interface EmbeddedPostgres {
  /** Returns the connection URL (as superuser, TCP on 127.0.0.1) of a database of this server. */
  url(database: string): string;
  /** True when the live server of an earlier process was taken over. */
  adopted: boolean;
  /** Creates a database when it is missing. */
  ensureDatabase(name: string): Promise<void>;
  /** Ends every connection and stops the server, for every process that uses it. Safe to call twice. */
  stop(): Promise<void>;
}

export interface StartEmbeddedPostgresOptions {
  /** The cluster goes to `<dataDirectory>/postgres`. */
  dataDirectory: string;
  /** The port to listen on; without it a free one is chosen at the first start and remembered. */
  port?: number;
  /** PostgreSQL settings that override the defaults; those that keep data durable and connections local cannot be changed. */
  settings?: Record<string, string>;
  /** Folder of a platform package, for an installation that keeps it elsewhere; default: the installed dependency. */
  packageFolder?: string;
  /**
   * The name of the superuser, of `<name>.conf`, and, when root starts the server, of the account `<name>-postgres` and
   * the folder `/var/lib/<name>`. One word in lower case, `embedded` by default; it must stay the same for a data
   * folder.
   */
  name?: string;
  /** How many seconds the server may take to accept connections, a crash recovery included; an hour by default. */
  startLimit?: number;
  /** Receives lines about what was found and created. */
  log?(line: string): void;
  randomBytes?(size: number): Uint8Array;
  /** Resolves after so many milliseconds. */
  delay?(ms: number): Promise<void>;
}

interface BringUpOptions
  extends Required<Pick<StartEmbeddedPostgresOptions, 'dataDirectory' | 'log' | 'randomBytes' | 'delay'>>,
    Pick<StartEmbeddedPostgresOptions, 'port' | 'packageFolder' | 'startLimit'> {
  names: Names;
  settings: Record<string, string>;
  /** False only for data that is thrown away with the server. */
  durable: boolean;
}

interface Prepared {
  binaries: Binaries;
  cluster: string;
  superuser: string;
  password: string;
  user: ServerUser | undefined;
  /** Part of the names of unfinished files. */
  token: string;
}

const PAUSE = 100;
/** About two seconds: how long the children and the shared memory of a killed server may take to disappear. */
const BUSY_ATTEMPTS = 20;
/** About five minutes for a live server that is recovering or shutting down. */
const CHANGING_ATTEMPTS = 3000;

/** Prepares the data folder and starts or adopts its server. Only one process at a time does this in a folder. */
export async function bringUp(options: BringUpOptions): Promise<EmbeddedPostgres> {
  checkSettings(options.settings);
  const platformPackage = await findPlatformPackage(process.platform, process.arch, options.packageFolder);
  await createDataFolder(options.dataDirectory);
  const token = Buffer.from(options.randomBytes(8)).toString('hex');
  const release = await holdStartLock({ folder: options.dataDirectory, token, delay: options.delay });
  try {
    const existing = await inspectCluster(join(options.dataDirectory, 'postgres'));
    const { dataDirectory, names, log, delay } = options;
    const user = await chooseServerUser(existing, { account: names.account, log, delay });
    const home = await prepareDataFolder({
      dataDirectory,
      existing,
      user,
      token,
      sharedFolder: names.sharedFolder,
      log,
    });
    await removeUnfinished(home);
    const binaries = await prepareBinaries({ package: platformPackage, copyTo: home, user, token, log });
    const password = await readPassword(options.dataDirectory, existing !== undefined, options);
    const cluster = existing ?? (await createCluster({ ...options, home, binaries, user, password, token }));
    if (user !== undefined && (await stat(cluster)).uid !== user.uid) {
      await ownCluster(cluster, user);
    }
    const prepared = { binaries, cluster: await realpath(cluster), superuser: names.superuser, password, user, token };
    return await startOrAdopt(options, prepared);
  } finally {
    await release();
  }
}

async function startOrAdopt(options: BringUpOptions, prepared: Prepared): Promise<EmbeddedPostgres> {
  const { binaries, cluster, user, token } = prepared;
  let port = await rememberedPort(options);
  let reason = 'it does not respond';
  for (let busy = 0, changing = 0; busy < BUSY_ATTEMPTS && changing < CHANGING_ATTEMPTS; ) {
    const found = await adoptPostmaster(prepared, options.log);
    if (found.state === 'ours') {
      if (options.port !== undefined && options.port !== found.port) {
        options.log(
          `the running PostgreSQL stays on port ${found.port}; port ${options.port} takes effect at its next start`,
        );
      }
      return describe(prepared, found.port, true);
    }
    if (found.state === 'changing') {
      changing += 1;
      await options.delay(PAUSE);
      continue;
    }
    if (found.state === 'none') {
      port = await choosePort({ wanted: options.port, remembered: port, log: options.log });
      // The file is replaced, because an ordinary user cannot write to a file that root left in their folder.
      await replaceFile(join(options.dataDirectory, 'postgres.port'), `${port}\n`, { token });
      await writeSettings(cluster, port, options, { token, owner: user });
      const result = await startPostmaster(binaries, cluster, user, options.startLimit);
      if (result.state === 'started') {
        return describe(prepared, port, false);
      }
      if (result.state === 'failed') {
        throw startFailed(cluster, result.reason);
      }
      // The port or the cluster was taken after the check: the next round checks again.
      reason = result.state === 'busy' ? result.reason : `port ${port} is taken`;
    }
    busy += 1;
    await options.delay(PAUSE);
  }
  throw startFailed(cluster, reason);
}

function startFailed(cluster: string, reason: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'start_failed',
    `PostgreSQL did not start on ${cluster}: ${reason}. See ${join(cluster, LOG_FILE)}.`,
  );
}

async function rememberedPort(options: BringUpOptions): Promise<number | undefined> {
  const text = await readFile(join(options.dataDirectory, 'postgres.port'), 'utf8').catch(() => '');
  const port = Number(text);
  return Number.isSafeInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

function describe(prepared: Prepared, port: number, adopted: boolean): EmbeddedPostgres {
  const { binaries, cluster, superuser, password, user } = prepared;
  const url = (database: string) =>
    `postgres://${superuser}:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
  let stopping: Promise<void> | undefined;
  return {
    url,
    adopted,
    ensureDatabase: (name) => ensureDatabase(url('postgres'), name),
    stop: () => {
      stopping ??= stopPostmaster(binaries, cluster, user);
      return stopping;
    },
  };
}

/** Creates a database when it is missing, through a connection to the database `postgres` of the same server. */
async function ensureDatabase(administration: string, name: string): Promise<void> {
  const sql = postgres(administration, { max: 1, connect_timeout: 10, fetch_types: false, onnotice: () => undefined });
  try {
    const found = await sql`select 1 from pg_database where datname = ${name}`;
    if (found.length === 0) {
      await sql`create database ${sql(name)}`.catch((error: { code?: string }) => {
        // Another process has created it: duplicate_database, or unique_violation when both do so at the same moment.
        if (error.code !== '42P04' && error.code !== '23505') {
          throw error;
        }
      });
    }
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/**
 * Gives a cluster that root owns (copied or restored by root) to the server's account. The top folder comes last: while root
 * owns it, a later start repeats the work.
 */
async function ownCluster(path: string, user: ServerUser): Promise<void> {
  const entry = await lstat(path);
  if (entry.isDirectory()) {
    for (const name of await readdir(path)) {
      await ownCluster(join(path, name), user);
    }
  }
  // Links are not followed, because their targets are not part of the cluster.
  await lchown(path, user.uid, user.gid);
}

/**
 * Removes unfinished clusters and copies of programs that killed starts have left. Some files may remain while the
 * initdb of a killed start still writes; the next start removes them.
 */
async function removeUnfinished(home: string): Promise<void> {
  for (const name of await readdir(home).catch(() => [])) {
    if (/^postgres(-binaries-.+)?\.new-/.test(name)) {
      await rm(join(home, name), { recursive: true, force: true }).catch(() => undefined);
    }
  }
}

interface HoldStartLockOptions {
  folder: string;
  /** Unique to this hold. */
  token: string;
  delay(ms: number): Promise<void>;
}

/** Two minutes: longer than the first start on the slowest machine, and short enough for an operator who waits. */
const PATIENCE = 120_000;

/**
 * Waits until only this process may start a server in the folder, and returns a function that releases the lock. The lock only
 * orders starts: PostgreSQL itself prevents a second postmaster (postmaster.pid and the shared memory key).
 *
 * @throws EmbeddedPostgresError `start_failed` when a live process does not release the lock within two minutes.
 */
async function holdStartLock({ folder, token, delay }: HoldStartLockOptions): Promise<() => Promise<void>> {
  const path = join(folder, 'postgres.lock');
  const release = await holdLock({ path, token, delay, patience: PATIENCE });
  if (release !== undefined) return release;
  throw new EmbeddedPostgresError(
    'start_failed',
    `Another process has been starting PostgreSQL in ${folder} for two minutes: end it, or remove ${path}.`,
  );
}
