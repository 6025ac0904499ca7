import { codeOf, isSource, type Tree } from './tree.js';

/** How many equal lines in a row count as a copy. */
const shared = 6;

/** Pairs of files that may have the same lines, and why. */
const allowed: readonly [one: string, other: string, why: string][] = [
  [
    'packages/console/src/pages/words.ts',
    'packages/console/src/static/words.js',
    'a page writes the words on the server, a script in the browser; the script is sent as it is and imports nothing',
  ],
  [
    'packages/core/src/suggester.ts',
    'packages/providers/src/llm/question.ts',
    'the domain and the connectors each say what a suggester is asked, and neither imports the other for it',
  ],
  [
    'apps/cli/src/within.ts',
    'packages/providers/src/within.ts',
    'both are published, neither depends on the other, and a signal that is joined twice leaks (decision 0109)',
  ],
];

interface Line {
  text: string;
  number: number;
}

/** Returns where six lines of code stand twice in the sources; imports, comments and lone punctuation do not count. */
export function checkRepetition(tree: Tree): string[] {
  const places = new Map<string, { path: string; index: number }[]>();
  const sources = new Map<string, Line[]>();
  for (const [path, text] of tree) {
    if (!isSource(path)) continue;
    const lines = linesOf(text);
    sources.set(path, lines);
    for (let index = 0; index + shared <= lines.length; index += 1) {
      const key = lines
        .slice(index, index + shared)
        .map((line) => line.text)
        .join('\n');
      places.set(key, [...(places.get(key) ?? []), { path, index }]);
    }
  }
  const faults = new Set<string>();
  const pairs = new Set<string>();
  for (const [first, ...others] of places.values()) {
    for (const other of others) {
      if (first === undefined || isAllowed(first.path, other.path)) continue;
      // For each pair of files only the first copy is reported.
      const pair = `${first.path} ${other.path}`;
      if (pairs.has(pair)) continue;
      pairs.add(pair);
      const [a, b] = [first, other].map(({ path, index }) => `${path}:${sources.get(path)?.[index]?.number}`);
      faults.add(`${b} repeats ${a}`);
    }
  }
  return [...faults];
}

function isAllowed(one: string, other: string): boolean {
  return allowed.some(([a, b]) => (a === one && b === other) || (a === other && b === one));
}

/** Returns the lines that count: without comments, imports and re-exports. */
function linesOf(source: string): Line[] {
  const blank = (text: string) => text.replace(/[^\n]/g, '');
  const code = source
    .replace(/\/\*[\s\S]*?\*\//g, blank)
    .replace(/^(import|export)\b[^;'"()=]*from\s*['"][^'"]+['"];$/gm, blank);
  return codeOf(code)
    .split('\n')
    .map((text, index) => ({ text: text.trim().replace(/\s+/g, ' '), number: index + 1 }))
    .filter(({ text }) => /\w/.test(text) && !/^import\b/.test(text));
}
