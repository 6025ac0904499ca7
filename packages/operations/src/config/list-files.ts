import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { ConfigurationError } from './configuration-error.js';

const endings = /\.(ya?ml|json)$/i;
const caseEndings = /\.policy-test\.(ya?ml|json)$/i;

/**
 * Returns the configuration files that a path stands for: itself, or every YAML and JSON file in the folder and below, sorted.
 * Names that begin with a dot are skipped: editors' temporary files, and the bookkeeping of mounted config maps. So are policy cases.
 * Throws what the file system throws when the path does not exist, and `ConfigurationError` for a symbolic link that leads out of the
 * folder (decision 0127).
 */
export async function listConfigurationFiles(path: string): Promise<string[]> {
  return listFiles(path, (name) => endings.test(name) && !caseEndings.test(name));
}

/** Returns the files of policy cases that a path stands for: itself, or each `*.policy-test.yaml` in the folder and below. Throws the same. */
export async function listCaseFiles(path: string): Promise<string[]> {
  return listFiles(path, (name) => caseEndings.test(name));
}

async function listFiles(path: string, wanted: (name: string) => boolean): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  return listFolder(path, await realpath(path), wanted);
}

async function listFolder(folder: string, root: string, wanted: (name: string) => boolean): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await readdir(folder)).sort()) {
    if (name.startsWith('.') || name === 'node_modules') continue;
    const below = join(folder, name);
    const kind = await stat(below);
    if (!kind.isDirectory() && !wanted(name)) continue;
    if ((await lstat(below)).isSymbolicLink()) await checkLink(below, kind.isDirectory(), root);
    if (kind.isDirectory()) found.push(...(await listFolder(below, root, wanted)));
    else if (kind.isFile()) found.push(below);
    else throw new ConfigurationError([{ file: below, message: 'is not a regular file' }]);
  }
  return found;
}

/** A mounted config map links to files within its own folder. A linked folder could contain itself. */
async function checkLink(file: string, isFolder: boolean, root: string): Promise<void> {
  if (isFolder) {
    throw new ConfigurationError([{ file, message: 'is a symbolic link to a folder; put the folder itself here' }]);
  }
  if (!(await realpath(file)).startsWith(root.endsWith(sep) ? root : `${root}${sep}`)) {
    const message = 'is a symbolic link to a file outside the folder; put the file itself here';
    throw new ConfigurationError([{ file, message }]);
  }
}
