import { digestOf } from '@belay/contract/canonical';
import MiniSearch from 'minisearch';

/** The items of a provider's list, ready to be searched. */
interface Searchable {
  entries: readonly Entry[];
  index: MiniSearch<Entry>;
}

interface Entry {
  /** The position of its item in the list. */
  id: number;
  /** The texts, folded; the first is the name. */
  texts: readonly string[];
  words: string;
}

/** The last list with its index. The index is created again only when the list has changed. */
export interface SearchMemory {
  digest: string;
  ready: Promise<Searchable>;
}

const mostFuzzyWords = 12;
const longestFuzzyWord = 40;

/**
 * Returns the items that match the words of `q`, best first: a text that equals it, one that begins with it, words that
 * begin with its words, texts that contain them, and finally similar spellings. Returns all items, in their own order,
 * when `q` is empty. The words are compared, never interpreted. The caller keeps `memory`, with one entry per `key`.
 */
export async function searchList<T>(
  items: readonly T[],
  textsOf: (item: T) => readonly string[],
  q: string | undefined,
  memory: Map<string, SearchMemory>,
  key: string,
): Promise<readonly T[]> {
  const wanted = folded(q ?? '').trim();
  const words = wordsOf(wanted);
  if (words.length === 0 && wanted === '') return items;
  const { entries, index } = await indexed(items, textsOf, memory, key);
  const near = new Map<number, number>();
  const looked = words.length > 0 && words.length <= mostFuzzyWords;
  const found = looked
    ? index.search(words.join(' '), {
        combineWith: 'AND',
        prefix: true,
        fuzzy: (word) => (word.length > longestFuzzyWord || word.length < 4 ? false : word.length < 8 ? 1 : 2),
      })
    : [];
  for (const { id, score } of found) near.set(id as number, score);
  const pieces = wanted.split(/\s+/);
  return entries
    .flatMap((entry) => {
      const tier = tierOf(entry, wanted, words, pieces) ?? (near.has(entry.id) ? 4 : undefined);
      return tier === undefined ? [] : [{ entry, tier, score: near.get(entry.id) ?? 0 }];
    })
    .sort((a, b) => a.tier - b.tier || b.score - a.score || compare(a.entry, b.entry))
    .flatMap(({ entry }) => items.slice(entry.id, entry.id + 1));
}

function tierOf(
  { texts, words }: Entry,
  wanted: string,
  wantedWords: readonly string[],
  pieces: readonly string[],
): number | undefined {
  if (texts.includes(wanted)) return 0;
  if (texts.some((text) => text.startsWith(wanted))) return 1;
  if (wantedWords.length > 0 && wantedWords.every((word) => words.includes(` ${word}`))) return 2;
  const all = texts.join('\n');
  return pieces.every((piece) => all.includes(piece)) ? 3 : undefined;
}

function compare(a: Entry, b: Entry): number {
  const [one = '', other = ''] = [a.texts[0], b.texts[0]];
  return one < other ? -1 : one > other ? 1 : a.id - b.id;
}

function indexed<T>(
  items: readonly T[],
  textsOf: (item: T) => readonly string[],
  memory: Map<string, SearchMemory>,
  key: string,
): Promise<Searchable> {
  const digest = digestOf(items);
  const known = memory.get(key);
  if (known?.digest === digest) return known.ready;
  const ready = makeIndex(items, textsOf);
  memory.set(key, { digest, ready });
  return ready;
}

async function makeIndex<T>(items: readonly T[], textsOf: (item: T) => readonly string[]): Promise<Searchable> {
  const entries = items.map((item, id): Entry => {
    const texts = textsOf(item).map(folded);
    return { id, texts, words: ` ${wordsOf(texts.join(' ')).join(' ')}` };
  });
  const index = new MiniSearch<Entry>({ fields: ['words'], tokenize: wordsOf, processTerm: (word) => word });
  // In pieces, so that a long list does not delay other requests.
  await index.addAllAsync(entries, { chunkSize: 500 });
  return { entries, index };
}

/** Returns a text without case and accents. */
function folded(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}]+/gu) ?? [];
}
