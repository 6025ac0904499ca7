import { deserialize } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { Breathe } from '@belay/core';
import type { ParsedText } from './parse-text.js';

type Sent = Exclude<ParsedText, { content: unknown }> | { pieces: Uint8Array[] };
type Piece =
  | { whole: unknown }
  | { section: string; value: unknown }
  | { section: string; entries: [string, unknown][] };

/**
 * Does what `parseText` does in a thread of its own, and takes its result in pieces. Rejects when the thread breaks.
 */
export async function parseLongText(text: string, breathe: Breathe): Promise<ParsedText> {
  const thread = new Worker(new URL('./parse-thread.js', import.meta.url), { workerData: text, env: {}, execArgv: [] });
  const sent = await new Promise<Sent>((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('The thread that reads the configuration has ended')));
  }).finally(() => thread.terminate());
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
  // Own properties, even for names such as `__proto__`, and the order of the sections does not matter.
  for (const [section, listed] of entries) sections.push([section, Object.fromEntries(listed)]);
  return { content: Object.fromEntries(sections) };
}
