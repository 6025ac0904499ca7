import { createHash } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { ArchiveFiles, Block } from '@belay/core';
import { replaceFile, syncFolder } from '@belay/host';
import { StartError } from '@belay/program';
import { type Manifest, nameOfArchive, verifyArchive } from './verify-archive.js';

/** Part of the name of an archive while it is being written. */
const unfinished = '.unfinished-';
/** Milliseconds without a write after which an unfinished archive counts as abandoned. */
const abandoned = 60 * 60_000;

type Blocks = Parameters<ArchiveFiles['write']>[1];

/**
 * Returns a writer of archives into a folder, which is created when it does not exist. Each archive is a compressed
 * file of lines and a manifest, which is written last: a file without a manifest is no archive. Names contain the
 * digest, so that an archive never replaces a different one, and a repeated write finds the existing archive. `write`
 * rejects with `StartError` when the folder cannot be written, and when an archive cannot be read back unchanged.
 */
export function openArchiveFolder(folder: string, newToken: () => string): ArchiveFiles {
  return {
    async write(month, blocks) {
      const temporary = join(folder, `ledger-${month}${unfinished}${newToken()}`);
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        const written = await writeLines(temporary, blocks);
        if (written.rows === 0) return { ...written, file: '' };
        const file = `${nameOfArchive(month, written.sha256)}.ndjson.gz`;
        await place(
          folder,
          { temporary, file, token: newToken() },
          { format: 'belay-ledger-1', month, file, ...written },
        );
        return { ...written, file };
      } catch (error) {
        throw explain(folder, error);
      } finally {
        await rm(temporary, { force: true }).catch(() => {});
      }
    },
  };
}

/** Removes unfinished archives of killed processes. Ages are compared by the clock of the file system, which also dates `own`. */
async function removeAbandoned(own: string): Promise<void> {
  const folder = dirname(own);
  const { mtimeMs: now } = await stat(own);
  for (const name of await readdir(folder)) {
    if (!name.startsWith('ledger-') || !name.includes(unfinished)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => null);
    if (found && found.mtimeMs < now - abandoned) await rm(path, { force: true });
  }
}

/** Returns a `StartError` with the folder for an error of the file system, such as a full disk; returns other errors unchanged. */
function explain(folder: string, error: unknown): unknown {
  const { syscall, message } = error as NodeJS.ErrnoException;
  if (syscall === undefined) return error;
  return new StartError(`The archive cannot be written to ${folder}: ${message}`, { cause: error });
}

interface Written {
  rows: number;
  sha256: string;
  blocks: Block[];
}

async function writeLines(path: string, source: Blocks): Promise<Written> {
  const hash = createHash('sha256');
  const blocks: Block[] = [];
  async function* lines() {
    for await (const { block, text } of source) {
      hash.update(text);
      blocks.push(block);
      yield Buffer.from(text);
    }
  }
  const file = await open(path, 'wx', 0o600);
  let fault: unknown;
  const write = async (compressed: AsyncIterable<Buffer>) => {
    try {
      for await (const part of compressed) await file.writeFile(part);
    } catch (error) {
      fault ??= error;
      throw error;
    }
  };
  try {
    // Before anything is written, because abandoned files may have filled the disk.
    await removeAbandoned(path);
    // When the disk is full, the pipeline may reject with an abort error only, so the error of the write is kept.
    await pipeline(Readable.from(lines()), createGzip(), write).catch((error: unknown) => {
      throw fault ?? error;
    });
    await file.sync();
  } finally {
    await file.close();
  }
  return { rows: blocks.reduce((sum, { rows }) => sum + rows, 0), sha256: hash.digest('hex'), blocks };
}

/** Gives the file its final name, writes the manifest, then verifies both. Replaces an existing file of this name that differs. */
async function place(
  folder: string,
  { temporary, file, token }: { temporary: string; file: string; token: string },
  manifest: Manifest,
): Promise<void> {
  const path = join(folder, file);
  const taken = await link(temporary, path).then(
    () => false,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      return true;
    },
  );
  if (taken && !(await equals(path, temporary))) await rename(temporary, path);
  await syncFolder(folder);
  const about = file.replace(/\.ndjson\.gz$/, '.json');
  await replaceFile(join(folder, about), `${JSON.stringify(manifest, null, 1)}\n`, { token });
  const fault = await verifyArchive(folder, about);
  if (fault !== null) throw new StartError(`The archive ${file} cannot be read back: ${fault}`);
}

async function equals(one: string, other: string): Promise<boolean> {
  const [left, right] = await Promise.all([readFile(one), readFile(other)]);
  return left.equals(right);
}
