import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createGunzip } from 'node:zlib';
import type { Block } from '@belay/core';
import { z } from 'zod';

const position = z.object({ at: z.string(), seq: z.number() });
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const manifestSchema = z.object({
  format: z.literal('belay-ledger-1'),
  /** `2026-01`, in UTC. */
  month: z.string().regex(/^\d{4}-\d{2}$/),
  file: z.string().regex(/^[\w.-]+$/),
  rows: z.int().min(1),
  /** The digest of the lines, uncompressed. */
  sha256,
  /** Parts of the file with digests of their own, as recorded in the database. */
  blocks: z.array(z.object({ rows: z.int().min(1), sha256, first: position, last: position })).min(1),
});

/** The description of an archive, in a file beside it. */
export type Manifest = z.infer<typeof manifestSchema>;

/** Returns the name of an archive, without its endings. */
export function nameOfArchive(month: string, digest: string): string {
  return `ledger-${month}.${digest.slice(0, 16)}`;
}

export interface VerifiedArchive {
  file: string;
  month: string | null;
  rows: number;
  /** What is wrong with the archive; null when it is whole. */
  fault: string | null;
}

/**
 * Reads every archive of a folder, and returns whether each is whole: it has every line, in order and unchanged. A file without a
 * manifest, or a manifest without its file, is not whole. Needs no database.
 */
export async function verifyArchives(folder: string): Promise<VerifiedArchive[]> {
  const names = (await readdir(folder)).filter((name) => name.startsWith('ledger-')).sort();
  const manifests = names.filter((name) => name.endsWith('.json'));
  const verified: VerifiedArchive[] = [];
  for (const name of manifests) {
    const manifest = await readManifest(folder, name).catch(() => undefined);
    const fault = await verifyArchive(folder, name);
    verified.push({ file: manifest?.file ?? name, month: manifest?.month ?? null, rows: manifest?.rows ?? 0, fault });
  }
  const known = new Set(manifests.map((name) => name.replace(/\.json$/, '.ndjson.gz')));
  const lost = names.filter((name) => name.endsWith('.ndjson.gz') && !known.has(name));
  return [
    ...verified,
    ...lost.map((file) => ({ file, month: null, rows: 0, fault: 'it has no manifest: its archive was interrupted' })),
  ];
}

/** Returns what is wrong with an archive, by the name of its manifest; null when it is whole. */
export async function verifyArchive(folder: string, name: string): Promise<string | null> {
  try {
    const manifest = await readManifest(folder, name);
    if (name !== `${nameOfArchive(manifest.month, manifest.sha256)}.json`) return 'its name does not match its content';
    return await compareLines(join(folder, manifest.file), manifest);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'its file is missing' : `it cannot be read: ${message.split('\n')[0]}`;
  }
}

async function readManifest(folder: string, name: string): Promise<Manifest> {
  return manifestSchema.parse(JSON.parse(await readFile(join(folder, name), 'utf8')));
}

/** Reads one line at a time, because an archive can be larger than memory. */
async function compareLines(path: string, manifest: Manifest): Promise<string | null> {
  const input = createReadStream(path);
  const unpacked = input.pipe(createGunzip());
  input.on('error', (error) => unpacked.destroy(error));
  const whole = createHash('sha256');
  const cursor = startBlocks(manifest);
  for await (const line of linesOf(unpacked)) {
    whole.update(`${line}\n`);
    const fault = cursor.take(line);
    if (fault !== null) return fault;
  }
  const fault = cursor.finish();
  if (fault !== null) return fault;
  return whole.digest('hex') === manifest.sha256 ? null : 'its digest does not match its lines';
}

/** Returns the lines. Only a line feed ends a line; `readline` would end it at other characters too. */
async function* linesOf(parts: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  for await (const part of parts) {
    rest = Buffer.concat([rest, part]);
    let start = 0;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10, start)) {
      yield rest.toString('utf8', start, end);
      start = end + 1;
    }
    rest = rest.subarray(start);
  }
  if (rest.length > 0) throw new Error('its last line has no line break');
}

type Line = { at: string; seq: number };

/** Returns functions that compare lines, in order, with the blocks of a manifest. */
function startBlocks({ month, rows, blocks }: Manifest) {
  let [nth, inBlock, count] = [0, 0, 0];
  let hash = createHash('sha256');
  let earlier: Line | undefined;
  const isAt = (line: Line, place: Block['first']) => line.at === place.at && line.seq === place.seq;

  function take(text: string): string | null {
    const line = JSON.parse(text) as Line;
    const block = blocks[nth];
    count += 1;
    if (!block) return `line ${count} is not in its manifest`;
    if (!line.at.startsWith(month)) return `line ${count} is not of ${month}`;
    if (earlier && (line.at < earlier.at || (line.at === earlier.at && line.seq <= earlier.seq)))
      return `line ${count} is out of order`;
    earlier = line;
    hash.update(`${text}\n`);
    inBlock += 1;
    if (inBlock === 1 && !isAt(line, block.first)) return `line ${count} differs from its manifest`;
    if (inBlock < block.rows) return null;
    if (!isAt(line, block.last) || hash.digest('hex') !== block.sha256)
      return `the lines up to ${count} differ from those that were archived`;
    [nth, inBlock, hash] = [nth + 1, 0, createHash('sha256')];
    return null;
  }
  const finish = () => (count === rows && nth === blocks.length ? null : `it has ${count} of ${rows} lines`);
  return { take, finish };
}
