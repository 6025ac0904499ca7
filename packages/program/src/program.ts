import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const root = new URL('../../../', import.meta.url);

/** Returns a folder or file of the repository, as a path. */
export function rootPath(name: string): string {
  return fileURLToPath(new URL(name, root));
}

/**
 * Returns the version of this program, and the revision of its source: of the clone, or from a file of the image;
 * `unknown` without either.
 */
export async function readProgram(): Promise<{ version: string; revision: string }> {
  const text = await readFile(new URL('../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  const revision = (await readRevision().catch(() => undefined)) ?? (await readBuilt().catch(() => undefined));
  return { version, revision: revision ?? 'unknown' };
}

/** Returns the revision that `build/image.mjs` wrote. */
async function readBuilt(): Promise<string> {
  return (await readFile(rootPath('revision'), 'utf8')).trim();
}

/** Returns the revision of the clone, from the files of Git, because the program git may not be installed. */
async function readRevision(): Promise<string | undefined> {
  const head = (await readFile(rootPath('.git/HEAD'), 'utf8')).trim();
  const reference = /^ref: (.+)$/.exec(head)?.[1];
  const revision = reference === undefined ? head : await readReference(reference);
  return revision?.slice(0, 12);
}

async function readReference(reference: string): Promise<string | undefined> {
  try {
    return (await readFile(rootPath(`.git/${reference}`), 'utf8')).trim();
  } catch {
    const packed = await readFile(rootPath('.git/packed-refs'), 'utf8');
    return packed
      .split('\n')
      .find((line) => line.endsWith(` ${reference}`))
      ?.split(' ')[0];
  }
}

/** The parts of the process that a program uses; the program passes them to other code as a parameter. */
export interface ProcessLike {
  env: Record<string, string | undefined>;
  stdout: { write(text: string): unknown; isTTY?: boolean };
  stderr: { write(text: string): unknown };
  cwd(): string;
  on(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', handle: () => void): unknown;
  exit(code: number): never;
}
