import { appendFile, chmod, chown, mkdir, realpath, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@belay/host';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import type { ServerUser } from './ensure-account.js';
import type { Names } from './names.js';
import type { Binaries } from './prepare-binaries.js';

interface CreateClusterOptions {
  /** The folder in which the cluster is created. */
  home: string;
  binaries: Binaries;
  user: ServerUser | undefined;
  password: string;
  names: Names;
  durable: boolean;
  token: string;
}

/**
 * Creates the cluster and returns its real path. The cluster gets its name only when it is complete, so that a kill at
 * any moment leaves either no cluster or a complete one.
 *
 * @throws EmbeddedPostgresError `start_failed` with initdb's reason.
 */
export async function createCluster(options: CreateClusterOptions): Promise<string> {
  const unfinished = join(options.home, `postgres.new-${options.token}`);
  const made = join(unfinished, 'cluster');
  try {
    await mkdir(unfinished, { mode: 0o700 });
    const passwordFile = join(unfinished, 'password');
    await writeFile(passwordFile, `${options.password}\n`, { mode: 0o600 });
    if (options.user !== undefined) {
      await chown(passwordFile, options.user.uid, options.user.gid);
      await chown(unfinished, options.user.uid, options.user.gid);
    }
    await initialise(options, made, passwordFile);
    const cluster = join(options.home, 'postgres');
    // An empty folder may already exist. If it has content, the rename below fails, as it should.
    await rmdir(cluster).catch(() => undefined);
    await rename(made, cluster);
    return await realpath(cluster);
  } finally {
    await rm(unfinished, { recursive: true, force: true }).catch(() => undefined);
  }
}

async function initialise(options: CreateClusterOptions, made: string, passwordFile: string): Promise<void> {
  const parameters = [
    ['--pgdata', made],
    ['--username', options.names.superuser],
    ['--pwfile', passwordFile],
    ['--auth-host', 'scram-sha-256'],
    // There is no Unix socket. If an operator adds one, it accepts no sign-in until they permit it.
    ['--auth-local', 'reject'],
    ['--encoding', 'UTF8'],
    // The same order and case rules on every machine, independent of its C library and locales.
    ['--locale', 'C'],
    ['--locale-provider', 'builtin'],
    ['--builtin-locale', 'C.UTF-8'],
    ['--no-instructions'],
    ...(options.durable ? [] : [['--no-sync']]),
  ].flat();
  const { code, output, failure } = await runProgram(options.binaries.initdb, parameters, options.user);
  if (code !== 0) {
    const reason =
      failure ?? output.match(/^initdb: error: (.*)$/m)?.[1] ?? output.match(/FATAL: {2}(.*)/)?.[1] ?? output;
    const cure = /could not look up/.test(reason)
      ? 'add that account to /etc/passwd'
      : 'free disk space or fix the folder';
    throw new EmbeddedPostgresError(
      'start_failed',
      `The database could not be created in ${options.home}: ${reason.trim()}: ${cure}.`,
    );
  }
  await chmod(made, 0o700);
  await appendFile(join(made, 'postgresql.conf'), `\ninclude '${options.names.settings}'\n`);
}
