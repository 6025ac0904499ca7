import { canonicalWord, levelOf } from './lexicon.js';

export interface Word {
  /** As written, in lower case. */
  raw: string;
  /** The canonical word for `raw`. */
  term: string;
  /** 1 read, 2 change, 3 administer. */
  level: number | undefined;
  /** True after a negation, as in "not production" or "without admin". */
  negated: boolean;
}

const longestWord = 40;
const negators = new Set(['not', 'no', 'without', 'except', 'excluding', 'never', 'nor', 'neither', 'dont', "don't"]);
/**
 * Directly before one of these words, a "not" belongs to an error or a phrase, and states no wish: "not authorized",
 * "not only", "no longer".
 */
const notWishes = new Set(
  `authorized authorised allowed able permitted have working work found possible sure know only more least longer yet
  sufficient enough idea matter problem permission such exist defined`.split(/\s+/),
);
const conjunctions = new Set(['but', 'and', 'just', 'only', 'so', 'because', 'then', 'instead']);
const reach = 4;

/**
 * Returns the words of a text, in order: identifiers as a whole and in their parts. The time is bounded by the length
 * of the text.
 */
export function readWords(text: string): Word[] {
  const words: Word[] = [];
  let negating = 0;
  for (const [piece] of plain(text).matchAll(/[\p{L}\p{N}']+|[.,;:()!?\n]/gu)) {
    if (/^[.,;:()!?\n]$/.test(piece)) {
      negating = 0;
      continue;
    }
    const lower = piece.toLowerCase();
    if (negators.has(lower)) {
      negating = reach;
      continue;
    }
    if (conjunctions.has(lower) || (negating === reach && notWishes.has(lower))) negating = 0;
    const negated = negating > 0;
    if (negated) negating -= 1;
    for (const raw of partsOf(piece)) words.push({ raw, term: canonicalWord(raw), level: levelOf(raw), negated });
  }
  return words;
}

/** Returns the parts of an identifier: `GetObject` is getobject, get and object; a number has no parts. */
export function partsOf(piece: string): string[] {
  const bare = piece.replaceAll("'", '');
  const parts = bare
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .split(' ');
  const whole = parts.length > 1 ? [bare, ...parts] : parts;
  return whole
    .map((part) => part.toLowerCase())
    .filter((part) => part.length > 1 && part.length <= longestWord && !/^\p{N}+$/u.test(part));
}

/** Returns a text in NFKD, without accents and invisible characters, and with spaces for slashes, dashes and `_`. */
export function plain(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}\p{Co}\p{Cn}]/gu, '')
    .replace(/[’`]/g, "'")
    .replace(/[_/\\-]/g, ' ');
}

/** Recognises the system of a pasted error by its wording. */
const origins: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/is forbidden: User|\(Forbidden\): /, 'kubernetes'],
  [/command denied to user|permission denied for (?:table|relation|schema|database|view|sequence)/i, 'database'],
  [/\.git denied to /i, 'push repository github'],
  [/not authorized to perform: |UnauthorizedOperation|\(AccessDenied\)/, 'aws'],
  [/AuthorizationFailed|authorization to perform action 'Microsoft\./, 'azure'],
  [/in the sudoers file|not allowed to (?:run|execute) /i, 'sudo'],
];

/** Matches parts of an error that say nothing about the access, such as the name of the rejected person or a URL. */
const noise: readonly RegExp[] = [
  /\b(?:user|client):? ?(?:"[^"]{0,200}"|'[^']{0,200}'(?:@'[^']{0,200}')?|arn:\S{1,200})/gi,
  /\bis not in the sudoers file\b/gi,
  /\bAPI group "[^"]{0,200}"/gi,
  /\bdenied to \S{1,200}/gi,
  /\bhttps?:\/\/\S{1,500}/gi,
];

/**
 * Returns a text without the names of people and parts of protocols in pasted errors, and with words for the system that reported
 * the error.
 */
export function clearPasted(text: string): string {
  const hints = origins.flatMap(([pattern, words]) => (pattern.test(text) ? [words] : []));
  const cleared = noise.reduce((left, pattern) => left.replace(pattern, ' '), text);
  return hints.length === 0 ? cleared : `${cleared}\n${hints.join(' ')}`;
}
