import { formatDuration } from '@belay/contract/durations';
import { type Breathe, inOnePiece } from '../breathe.js';
import type { Catalog } from '../configuration/catalog.js';
import type { SuggestedRole, Suggester, SuggestibleRole } from '../suggester.js';
import { type CatalogIndex, createCatalogIndex } from './catalog-index.js';
import { readWishedDuration } from './durations.js';
import { allOfIt, common, environments, levelOf, relatedWords, silent } from './lexicon.js';
import { clearPasted, readWords, type Word } from './words.js';

/** Below this score the words have too little to do with the role. */
const leastScore = 0.3;
/** The minimum share of the meaningful words that must be about the role. */
const leastCoverage = 0.2;
/** When more roles than this fit equally well, none is suggested. */
const mostEquals = 3;
const mostTerms = 60;
const mostAnswers = 5;

const indexes = new WeakMap<Catalog, Promise<CatalogIndex>>();

/**
 * Creates the matcher that is always available: it compares words of the text with words of the catalog, and always
 * returns the same result for the same question. Its index is created once per version of the catalog; only the roles
 * of the question count, in the result as well as in the rarity of a word.
 */
export function lexicalSuggester(catalog: Catalog, breathe: Breathe = inOnePiece): Suggester {
  const index = indexes.get(catalog) ?? createCatalogIndex(catalog, breathe);
  indexes.set(catalog, index);
  return { suggest: async ({ text, roles, now }) => rank(await index, readWish(text, now), roles, breathe) };
}

interface Wish {
  terms: ReadonlyMap<string, number>;
  /** How each word was written, for the explanation to the person. */
  written: ReadonlyMap<string, string>;
  unwanted: ReadonlySet<string>;
  /** The highest level that is requested; undefined when nothing is stated. */
  level: number | undefined;
  /** The level that the access should stay below; undefined when nothing is stated. */
  below: number | undefined;
  environments: ReadonlySet<string>;
  duration: string | undefined;
}

function readWish(text: string, now: Date): Wish {
  const words = readWords(clearPasted(text));
  const terms = new Map<string, number>();
  const written = new Map<string, string>();
  const add = (term: string, weight: number) => {
    if (terms.size < mostTerms || terms.has(term)) terms.set(term, Math.max(weight, terms.get(term) ?? 0));
  };
  for (const word of words) {
    if (word.negated || isSilent(word) || allOfIt.has(word.raw)) continue;
    add(word.term, weightOf(word));
    if (!written.has(word.term)) written.set(word.term, word.raw);
    for (const other of relatedWords(word.term)) add(other, 0.4);
    if (word.raw !== word.term) for (const other of relatedWords(word.raw)) add(other, 0.4);
  }
  const unwanted = words.filter((word) => word.negated && !isSilent(word));
  const wanted = words.filter(({ negated }) => !negated);
  const refused = unwanted.flatMap(({ level }) => level ?? []);
  const duration = readWishedDuration(text, now);
  return {
    terms,
    written,
    unwanted: new Set(unwanted.filter(({ level }) => level === undefined).map(({ term }) => term)),
    level: wantedLevel(wanted),
    below: refused.length === 0 ? undefined : Math.min(...refused),
    environments: new Set(wanted.map(({ term }) => term).filter((term) => environments.has(term))),
    duration: duration === undefined ? undefined : formatDuration(duration),
  };
}

/** Verbs are common and environments are shared, so the subject of the role counts most. */
function weightOf({ term, level }: Word): number {
  if (common.has(term)) return 0.45;
  if (level !== undefined) return 0.6;
  return environments.has(term) ? 0.5 : 1;
}

function isSilent({ raw, term }: Word): boolean {
  return silent.has(raw) || silent.has(term);
}

function wantedLevel(words: readonly Word[]): number | undefined {
  const raws = words.map(({ raw }) => raw);
  const only = raws.some(
    (raw, index) => raw === 'readonly' || (raw === 'only' && /^(?:read|view|look)/.test(`${raws[index - 1]} `)),
  );
  if (only) return 1;
  const levels = words.flatMap(({ level }) => level ?? []);
  if (levels.length > 0) return Math.max(...levels);
  return raws.some((raw) => allOfIt.has(raw)) ? 3 : undefined;
}

interface Judged {
  role: SuggestibleRole;
  score: number;
  coverage: number;
  level: number;
  words: string[];
  providers: string[];
}

async function rank(
  index: CatalogIndex,
  wish: Wish,
  roles: readonly SuggestibleRole[],
  breathe: Breathe,
): Promise<SuggestedRole[]> {
  const matches: TermMatch[] = [];
  for (const [term, weight] of wish.terms) {
    matches.push(matchTerm(index, term, weight, roles));
    await breathe();
  }
  const said = matches.reduce((sum, { weight, rarity }) => sum + (weight >= 0.5 ? weight * rarity : 0), 0);
  const all: Judged[] = [];
  for (const role of roles) {
    const one = judge(index, wish, matches, said, role);
    if (one) all.push(one);
    await breathe();
  }
  const judged = all
    .filter(({ score, coverage }) => score >= leastScore && coverage >= leastCoverage)
    .sort((a, b) => b.score - a.score || a.level - b.level || (a.role.name < b.role.name ? -1 : 1));
  const [best] = judged;
  if (!best) return [];
  if (judged.filter(({ score }) => score > best.score * 0.98).length > mostEquals) return [];
  return judged.slice(0, mostAnswers).map(({ role, score, words, providers }) => ({
    role: role.name,
    providers,
    duration: wish.duration,
    score: Math.round(score * 1000) / 1000,
    why: words,
  }));
}

interface TermMatch {
  term: string;
  weight: number;
  /** 1 when at most one role has the word; the more roles have it, the nearer to 0. */
  rarity: number;
  fits: ReadonlyMap<SuggestibleRole, { fit: number; providers: string[] }>;
}

function matchTerm(index: CatalogIndex, term: string, weight: number, roles: readonly SuggestibleRole[]): TermMatch {
  const byRole = index.roles(term);
  const byProvider = index.providers(term);
  const fits = new Map<SuggestibleRole, { fit: number; providers: string[] }>();
  if (byRole.size + byProvider.size > 0) {
    for (const role of roles) {
      const own = byRole.get(role.name) ?? 0;
      const providers = role.providers.filter(({ id }) => byProvider.has(id)).map(({ id }) => id);
      const there = Math.max(0, ...providers.map((id) => (byProvider.get(id) ?? 0) * 0.8));
      const fit = Math.max(own, there);
      if (fit > 0) fits.set(role, { fit, providers });
    }
  }
  // A word that no role has counts too: the text is about something else.
  const rarity = Math.log(1 + roles.length / Math.max(1, fits.size)) / Math.log(1 + Math.max(1, roles.length));
  return { term, weight, rarity, fits };
}

function judge(
  index: CatalogIndex,
  wish: Wish,
  matches: readonly TermMatch[],
  said: number,
  role: SuggestibleRole,
): Judged | undefined {
  let score = 0;
  let covered = 0;
  let subjects = 0;
  const words: string[] = [];
  const named = new Set<string>();
  for (const { term, weight, rarity, fits } of matches) {
    const match = fits.get(role);
    if (!match) continue;
    score += weight * rarity * match.fit;
    if (weight >= 0.5) covered += weight * rarity;
    // An environment or a common verb is not a subject: "something in production" matches every role there.
    if (!environments.has(term) && (levelOf(term) === undefined || rarity >= 0.5)) subjects += 1;
    if (weight >= 0.45) words.push(wish.written.get(term) ?? term);
    for (const id of match.providers) if (weight >= 0.5) named.add(id);
  }
  if (subjects === 0 || words.length === 0) return undefined;
  const facts = index.facts(role.name);
  const level = facts?.level ?? 2;
  score *= levelFactor(wish, level);
  const places = new Set([
    ...(facts?.environments ?? []),
    ...role.providers.flatMap(({ id }) => [...index.environmentsOf(id)]),
  ]);
  score *= placeFactor(wish, places);
  for (const term of wish.unwanted) {
    if (index.roles(term).has(role.name) || role.providers.some(({ id }) => index.providers(term).has(id)))
      score *= 0.2;
  }
  const providers = role.providers.map(({ id }) => id);
  const singled = providers.filter((id) => named.has(id));
  return {
    role,
    score,
    coverage: said === 0 ? 0 : covered / said,
    level,
    words,
    providers: singled.length > 0 ? singled : providers,
  };
}

/** Returns a factor that lowers roles of another environment than the requested one, and lowers roles without an environment a little. */
function placeFactor({ environments: wanted }: Wish, places: ReadonlySet<string>): number {
  if (wanted.size === 0) return 1;
  if (places.size === 0) return 0.75;
  return [...places].some((place) => wanted.has(place)) ? 1 : 0.2;
}

/** Returns a factor that prefers the least access that is enough, and lowers too little access. */
function levelFactor({ level: wanted, below }: Wish, has: number): number {
  if (below !== undefined && has >= below) return 0.15;
  if (wanted === undefined) return 1 - 0.12 * (has - 1);
  return has < wanted ? 0.4 : 1 - 0.15 * (has - wanted);
}
