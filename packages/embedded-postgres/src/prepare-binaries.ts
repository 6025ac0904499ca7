import { chmod, cp, lstat, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@belay/host';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import type { ServerUser } from './ensure-account.js';
import { isMusl, noBinaries, type PlatformPackage } from './find-platform-package.js';
import { linkLibraries } from './link-libraries.js';

export interface Binaries {
  initdb: string;
  pgControl: string;
  postgres: string;
}

interface PrepareBinariesOptions {
  package: PlatformPackage;
  /** The folder for a copy when the installed programs cannot be used; `user` must be able to reach it. */
  copyTo: string;
  user: ServerUser | undefined;
  /** Part of the name of the unfinished copy. */
  token: string;
  log(line: string): void;
}

/**
 * Returns programs that the server's account can run: those in node_modules, with their library links made; or, when
 * that account cannot read them or the links cannot be made there, a copy in `copyTo`, made once per version.
 *
 * @throws EmbeddedPostgresError `no_binaries` on musl, `not_writable` when the copy cannot be written, `start_failed`
 * when even the copy does not run.
 */
export async function prepareBinaries(options: PrepareBinariesOptions): Promise<Binaries> {
  const installed = await tryFolder(options.package.folder, options.user);
  if (typeof installed !== 'string') {
    return installed;
  }
  if (isMusl(process.platform)) {
    throw noBinaries(process.platform, process.arch, true);
  }
  const copy = join(options.copyTo, `postgres-binaries-${options.package.version}`);
  if (!(await stat(copy).catch(() => undefined))) {
    options.log(`copying PostgreSQL's programs to ${copy}, because the installed ones cannot be used: ${installed}`);
    await copyPackage(options, copy);
  }
  const copied = await tryFolder(copy, options.user);
  if (typeof copied !== 'string') {
    return copied;
  }
  throw new EmbeddedPostgresError(
    'start_failed',
    `PostgreSQL's programs do not run from ${copy}: ${copied}. Remove that folder to copy them again.`,
  );
}

/** Returns the programs of a folder, or why they cannot be used. */
async function tryFolder(folder: string, user: ServerUser | undefined): Promise<Binaries | string> {
  try {
    await linkLibraries(folder);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const program = (name: string) => join(folder, 'native', 'bin', `${name}${suffix}`);
  const binaries = { initdb: program('initdb'), pgControl: program('pg_ctl'), postgres: program('postgres') };
  // One real run checks everything: readable, executable, right architecture and C library, every shared library
  // found.
  const { code, output, failure } = await runProgram(binaries.postgres, ['--version'], user);
  return code === 0 ? binaries : `${failure ?? output.trim()} (${binaries.postgres})`;
}

async function copyPackage(options: PrepareBinariesOptions, copy: string): Promise<void> {
  const unfinished = `${copy}.new-${options.token}`;
  try {
    await mkdir(join(unfinished, 'native'), { recursive: true });
    await cp(join(options.package.folder, 'native'), join(unfinished, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
      // Files that are only for compiling against PostgreSQL are not copied.
      filter: (source) => !source.endsWith('.a') && !source.endsWith('pkgconfig'),
    });
    await linkLibraries(unfinished);
    await makeReadable(unfinished);
    // The copy gets its name only when it is complete, so that a kill leaves no partial copy under that name.
    await rename(unfinished, copy);
  } catch (cause) {
    await rm(unfinished, { recursive: true, force: true });
    throw new EmbeddedPostgresError(
      'not_writable',
      `PostgreSQL's programs could not be copied to ${copy} (${(cause as Error).message}): make the folder writable and free 50 MB, or use another data folder.`,
      { cause },
    );
  }
}

/**
 * Makes a copy readable for all users: it holds nothing secret, and a strict umask at install time may have closed it.
 */
async function makeReadable(path: string): Promise<void> {
  const entry = await lstat(path);
  if (entry.isDirectory()) {
    await chmod(path, 0o755);
    await Promise.all((await readdir(path)).map((name) => makeReadable(join(path, name))));
  } else if (entry.isFile()) {
    await chmod(path, (entry.mode & 0o100) !== 0 ? 0o755 : 0o644);
  }
}
