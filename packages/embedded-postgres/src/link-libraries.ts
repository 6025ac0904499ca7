import { lstat, readFile, symlink } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';

/**
 * Makes the links between shared libraries that a package archive cannot carry, as `native/pg-symlinks.json` lists
 * them. The package's own install script does the same, but install scripts may be disabled. Links that exist are left
 * alone.
 *
 * Throws the system's error (EROFS, EACCES …) when a link is missing and cannot be made, and an `Error` for a list that
 * is malformed or leads out of its folder.
 */
export async function linkLibraries(packageFolder: string): Promise<void> {
  const list = await readFile(join(packageFolder, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of readLinks(JSON.parse(list))) {
    const link = resolve(packageFolder, target);
    if (!link.startsWith(resolve(packageFolder) + sep) || dirname(source) !== dirname(target)) {
      throw new Error(`a library link leaves its folder: ${target}`);
    }
    if (await lstat(link).catch(() => undefined)) {
      continue;
    }
    await symlink(basename(source), link).catch((error: NodeJS.ErrnoException) => {
      // Another process created the link after the check.
      if (error.code !== 'EEXIST') {
        throw error;
      }
    });
  }
}

function readLinks(list: unknown): Array<{ source: string; target: string }> {
  if (!Array.isArray(list)) {
    throw new Error('pg-symlinks.json is not a list');
  }
  return list.map((entry: unknown) => {
    if (typeof entry === 'object' && entry !== null && 'source' in entry && 'target' in entry) {
      const { source, target } = entry;
      if (typeof source === 'string' && typeof target === 'string') {
        return { source, target };
      }
    }
    throw new Error('pg-symlinks.json has an entry without source and target');
  });
}
