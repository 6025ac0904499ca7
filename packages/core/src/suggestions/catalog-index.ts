import MiniSearch from 'minisearch';
import type { Breathe } from '../breathe.js';
import type { Catalog, CompiledRole } from '../configuration/catalog.js';
import { allOfIt, canonicalWord, environments, levelOf } from './lexicon.js';
import { partsOf, plain } from './words.js';

/** How well one word matches each role or provider: 0 to 1, by the name of the role or the id of the provider. */
export type Fit = ReadonlyMap<string, number>;

export interface RoleFacts {
  /** 1 to read, 2 to change, 3 to administer. */
  level: number;
  environments: ReadonlySet<string>;
}

export interface CatalogIndex {
  /** Returns the fit of the roles for one word. */
  roles(term: string): Fit;
  /** Returns the fit of the providers for one word. */
  providers(term: string): Fit;
  facts(role: string): RoleFacts | undefined;
  /** The environments of a provider. */
  environmentsOf(provider: string): ReadonlySet<string>;
}

const weights: Readonly<Record<string, number>> = { name: 1, gives: 0.9, description: 1, id: 1 };
const longestMemory = 256;

/**
 * Creates the index of a catalog's words. It contains every role, so callers must use only the roles that the person may see, for
 * results and for statistics.
 */
export async function createCatalogIndex(catalog: Catalog, breathe: Breathe): Promise<CatalogIndex> {
  const roles = await search(
    breathe,
    [...catalog.roles.values()].map((role) => ({
      key: role.name,
      name: role.name,
      description: role.definition.description,
      gives: givenBy(role),
    })),
  );
  const providers = await search(
    breathe,
    [...catalog.providers.values()].map(({ id, definition }) => ({
      key: id,
      name: `${id} ${definition.name ?? ''} ${definition.provider}`,
      description: definition.description,
      gives: '',
    })),
  );
  const facts = new Map<string, RoleFacts>();
  for (const role of catalog.roles.values()) {
    const said = termsOf(`${role.name} ${role.definition.description}`);
    facts.set(role.name, { level: levelIn(said, givenBy(role)), environments: environmentsIn(said) });
    await breathe();
  }
  const places = new Map(
    [...catalog.providers.values()].map(({ id, definition }): [string, ReadonlySet<string>] => [
      id,
      environmentsIn(termsOf(`${id} ${definition.name ?? ''} ${definition.description}`)),
    ]),
  );
  return {
    roles,
    providers,
    facts: (role) => facts.get(role),
    environmentsOf: (provider) => places.get(provider) ?? new Set(),
  };
}

function givenBy({ accesses }: CompiledRole): string {
  return [...accesses.values()]
    .flat()
    .map((access) => JSON.stringify(access))
    .join(' ');
}

interface Entry {
  key: string;
  name: string;
  description: string;
  gives: string;
}

async function search(breathe: Breathe, entries: Entry[]): Promise<(term: string) => Fit> {
  const index = new MiniSearch<Entry>({
    idField: 'key',
    fields: ['name', 'description', 'gives'],
    tokenize: (text) => termsOf(text).map(({ term }) => term),
    processTerm: (term) => term,
  });
  for (const entry of entries) {
    index.add(entry);
    await breathe();
  }
  // The same words recur; the cache is bounded, because callers choose the words.
  const memory = new Map<string, Fit>();
  return (term) => {
    const known = memory.get(term);
    if (known) return known;
    const found = index.search(term, {
      tokenize: (text) => [text],
      processTerm: (text) => text,
      prefix: term.length >= 5,
      fuzzy: term.length >= 6 ? 1 : false,
    });
    const fit = new Map(found.map(({ id, match }): [string, number] => [String(id), bestMatch(term, match)]));
    if (memory.size >= longestMemory) memory.clear();
    memory.set(term, fit);
    return fit;
  };
}

function bestMatch(term: string, match: Record<string, string[]>): number {
  return Math.max(
    ...Object.entries(match).map(([found, fields]) => {
      const likeness = found === term ? 1 : found.startsWith(term) ? 0.7 : 0.5;
      return likeness * Math.max(...fields.map((field) => weights[field] ?? 0.5));
    }),
  );
}

interface Term {
  raw: string;
  term: string;
}

function termsOf(text: string): Term[] {
  return [...plain(text).matchAll(/[\p{L}\p{N}']+/gu)]
    .flatMap(([piece]) => partsOf(piece))
    .map((raw) => ({ raw, term: canonicalWord(raw) }));
}

/** Returns the level of access that the name and the description state, or else that the accesses state. An unknown level counts as 2. */
function levelIn(said: readonly Term[], gives: string): number {
  const named = highest(said);
  if (named !== undefined) return named;
  if (said.some(({ raw }) => allOfIt.has(raw))) return 3;
  return highest(termsOf(gives)) ?? 2;
}

function highest(terms: readonly Term[]): number | undefined {
  const levels = terms.flatMap(({ raw }) => levelOf(raw) ?? []);
  return levels.length === 0 ? undefined : Math.max(...levels);
}

function environmentsIn(terms: readonly Term[]): ReadonlySet<string> {
  return new Set(terms.map(({ term }) => term).filter((term) => environments.has(term)));
}
