import type { Stats } from 'node:fs';
import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { ConfigurationError } from './configuration-error.js';

const endings = /\.(ya?ml|json)$/i;
const caseEndings = /\.policy-test\.(ya?ml|json)$/i;

/**
 * Returns the configuration files of a path: the file itself, or every YAML and JSON file in the folder and below,
 * sorted. Skips policy cases, `node_modules`, and names that begin with a dot: temporary files of editors, and internal
 * folders of mounted config maps. Throws the error of the file system when the path does not exist, and
 * `ConfigurationError` for a file in the folder that is not a regular one, or for a symbolic link to a folder or out of
 * the folder (decision 0127).
 */
export async function listConfigurationFiles(path: string): Promise<string[]> {
  return listFiles(path, (name) => endings.test(name) && !caseEndings.test(name));
}

/**
 * Returns the files of policy cases of a path, in the same way: the file itself, or each `*.policy-test.yaml`, `.yml`
 * or `.json` in the folder and below.
 */
export async function listCaseFiles(path: string): Promise<string[]> {
  return listFiles(path, (name) => caseEndings.test(name));
}

/**
 * Does the same for the cases beside a configuration that is one file. The operator has not named the file of cases, so a symbolic
 * link is checked as in a folder.
 */
export async function listCasesBeside(path: string): Promise<string[]> {
  await checkKind(path, await stat(path), await realpath(dirname(path)));
  return listCaseFiles(path);
}

/** The longest file, in bytes. A million bytes take about a second to parse. */
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

/**
 * Throws `ConfigurationError` unless a path is a file or a folder, and for a symbolic link to a folder or out of the
 * root.
 */
async function checkKind(path: string, kind: Stats, root: string): Promise<void> {
  if ((await lstat(path)).isSymbolicLink()) await checkLink(path, kind.isDirectory(), root);
  if (!kind.isFile() && !kind.isDirectory()) {
    throw new ConfigurationError([{ file: path, message: 'is not a regular file' }]);
  }
}

/** Rejects links to folders, because a folder could contain itself. Links to files of the root are used by mounted config maps. */
async function checkLink(file: string, isFolder: boolean, root: string): Promise<void> {
  if (isFolder) {
    throw new ConfigurationError([{ file, message: 'is a symbolic link to a folder; put the folder itself here' }]);
  }
  if (!(await realpath(file)).startsWith(root.endsWith(sep) ? root : `${root}${sep}`)) {
    const message = 'is a symbolic link to a file outside the folder; put the file itself here';
    throw new ConfigurationError([{ file, message }]);
  }
}
