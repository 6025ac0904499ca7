import type { Stats } from 'node:fs';
import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
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

/**
 * Does the same for the cases beside a configuration that is one file. The operator has not named them, so a link is checked as one in
 * a folder is.
 */
export async function listCasesBeside(path: string): Promise<string[]> {
  await checkKind(path, await stat(path), await realpath(dirname(path)));
  return listCaseFiles(path);
}

/** The longest file, in bytes: about a second goes by for every million. */
const longest = 4 * 1024 * 1024;

/** Returns the text of a file of a configuration. Throws when it is too long. */
export async function readText(name: string): Promise<string> {
  const { size } = await stat(name);
  const text = size > longest ? '' : await readFile(name, 'utf8');
  const bytes = Math.max(size, text.length);
  if (bytes <= longest) return text;
  throw new Error(
    `is too long: ${(bytes / 1024 / 1024).toFixed(1)} of 4 MiB; divide it among several files of a folder`,
  );
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
    await checkKind(below, kind, root);
    found.push(...(kind.isDirectory() ? await listFolder(below, root, wanted) : [below]));
  }
  return found;
}

/** Throws `ConfigurationError` for what is no file or folder, and for a link that leads out of the root. */
async function checkKind(path: string, kind: Stats, root: string): Promise<void> {
  if ((await lstat(path)).isSymbolicLink()) await checkLink(path, kind.isDirectory(), root);
  if (!kind.isFile() && !kind.isDirectory()) {
    throw new ConfigurationError([{ file: path, message: 'is not a regular file' }]);
  }
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
