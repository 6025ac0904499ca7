import { deserialize } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { Breathe } from '@belay/core';
import { findPlaces, type ParsedText, type Place, parseText } from './parse-text.js';

type Sent = Exclude<ParsedText, { content: unknown }> | { pieces: Uint8Array[] };
type Piece =
  | { whole: unknown }
  | { section: string; value: unknown }
  | { section: string; entries: [string, unknown][] };

/** A text of more characters is parsed in a thread; a thousand characters take about a millisecond. */
const long = 20_000;

/**
 * Does what `parseText` does; for a long text in a thread of its own, whose result is read in pieces. Rejects when the thread fails.
 */
export async function parseAnyText(text: string, breathe: Breathe): Promise<ParsedText> {
  if (text.length <= long) return parseText(text);
  const sent = await runThread<Sent>({ text });
  if (!('pieces' in sent)) return sent;
  const sections: [string, unknown][] = [];
  const entries = new Map<string, [string, unknown][]>();
  for (const bytes of sent.pieces) {
    const piece = deserialize(bytes) as Piece;
    if ('whole' in piece) return { content: piece.whole };
    if ('value' in piece) sections.push([piece.section, piece.value]);
    else {
      const listed = entries.get(piece.section) ?? [];
      entries.set(piece.section, listed);
      listed.push(...piece.entries);
    }
    await breathe();
  }
  // `Object.fromEntries` makes own properties even of names such as `__proto__`. The order of the sections does not matter.
  for (const [section, listed] of entries) sections.push([section, Object.fromEntries(listed)]);
  return { content: Object.fromEntries(sections) };
}

/** Does what `findPlaces` does; for a long text in a thread of its own. */
export async function findPlacesInText(text: string, paths: readonly string[]): Promise<(Place | null)[]> {
  return text.length <= long ? findPlaces(text, paths) : runThread({ text, paths });
}

async function runThread<T>(workerData: { text: string; paths?: readonly string[] }): Promise<T> {
  const thread = new Worker(new URL('./parse-thread.js', import.meta.url), { workerData, env: {}, execArgv: [] });
  return new Promise<T>((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('The thread that reads the configuration has ended')));
  }).finally(() => thread.terminate());
}
