/** An answer as it is sent, without what depends on the request: cookies, and its id. */
export interface KeptAnswer {
  body: Buffer;
  headers: Readonly<Record<string, string>>;
}

export interface KeptAnswers {
  find(of: object, as: string): KeptAnswer | undefined;
  keep(of: object, as: string, answer: KeptAnswer): void;
}

/** How many bytes are kept of one object's answers; when there are more, they are made anew. */
const mostBytes = 16 * 1024 * 1024;
/** A longer answer is made anew each time, and so is one to a longer address. */
const mostOfOne = 256 * 1024;
const longestName = 1_000;

interface Shelf {
  answers: Map<string, KeptAnswer>;
  bytes: number;
}

/** Keeps the texts of answers for as long as the object that they are of is there, such as one version of the configuration. */
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
