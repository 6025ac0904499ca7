/** A response without the headers that depend on the request: cookies and the id of the request. */
export interface KeptAnswer {
  body: Buffer;
  headers: Readonly<Record<string, string>>;
}

export interface KeptAnswers {
  find(of: object, as: string): KeptAnswer | undefined;
  keep(of: object, as: string, answer: KeptAnswer): void;
}

/** The most bytes that are kept for one object; when a response would exceed them, the others of that object are dropped. */
const mostBytes = 16 * 1024 * 1024;
/** A longer response is not kept, nor is one to an address longer than `longestName`. */
const mostOfOne = 256 * 1024;
const longestName = 1_000;

interface Shelf {
  answers: Map<string, KeptAnswer>;
  bytes: number;
}

/** Keeps responses for as long as the object that they were made from exists, such as one version of the configuration. */
export function createKeptAnswers(): KeptAnswers {
  const shelves = new WeakMap<object, Shelf>();
  return {
    find: (of, as) => shelves.get(of)?.answers.get(as),
    keep(of, as, answer) {
      const bytes = answer.body.length + as.length;
      if (bytes > mostOfOne || as.length > longestName) return;
      const shelf = shelves.get(of) ?? { answers: new Map(), bytes: 0 };
      shelves.set(of, shelf);
      if (shelf.bytes + bytes > mostBytes) {
        shelf.answers.clear();
        shelf.bytes = 0;
      }
      if (!shelf.answers.has(as)) shelf.bytes += bytes;
      shelf.answers.set(as, answer);
    },
  };
}
