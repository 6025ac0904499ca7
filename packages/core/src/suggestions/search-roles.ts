import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import { breatheBy } from '../breathe.js';
import { rolesConcerning } from '../catalog/audiences.js';
import { listRoles } from '../catalog/roles.js';
import type { CompiledRole } from '../configuration/catalog.js';
import type { ActorStore } from '../context.js';
import { lexicalSuggester } from './lexical.js';
import { listRequestable } from './requestable.js';

/** From so many words on a text is also read as a sentence that describes a need. */
const sentence = 2;

/**
 * Returns the roles that the caller may see and request (GET /roles); with `q` those that match its words, best first: by
 * their names, by descriptions and systems, and by what a sentence says, as the matcher of suggestions reads it. No
 * language model is asked.
 */
export async function searchRoles(
  ctx: ActorStore,
  { q = '', ...asked }: PageOf & { provider?: string[] | undefined; q?: string | undefined },
) {
  const text = q.trim().slice(0, limits.reason);
  if (text === '') return listRoles(ctx, asked);
  return listRoles(ctx, { ...asked, found: { q: text, roles: await findRoles(ctx, text) } });
}

async function findRoles(ctx: ActorStore, text: string): Promise<CompiledRole[]> {
  const catalog = ctx.catalog.current();
  const words = text.toLowerCase().split(/\s+/);
  const ranked = rolesConcerning(ctx.actor, catalog).flatMap((role) => {
    const rank = rankOf(role, words);
    return rank === undefined ? [] : [{ role, rank }];
  });
  const direct = ranked.sort((one, other) => one.rank - other.rank).map(({ role }) => role);
  if (words.length < sentence || ctx.actor.kind !== 'user') return direct;
  const breathe = breatheBy(() => ctx.clock().getTime());
  const requestable = await listRequestable(ctx, ctx.actor, catalog, breathe);
  const roles = [...requestable.values()].map(({ described }) => described);
  const question = { text, roles, now: ctx.clock() };
  const suggested = await lexicalSuggester(catalog, breathe).suggest(question, new AbortController().signal);
  const meant = suggested.flatMap(({ role }) => catalog.roles.get(role) ?? []);
  return [...new Set([...direct, ...meant])];
}

/** Returns how well a role fits words that all occur in it, the best as 0; undefined when one does not. */
function rankOf(role: CompiledRole, words: readonly string[]): number | undefined {
  const name = role.name.toLowerCase();
  const everywhere = [name, role.definition.description.toLowerCase(), ...role.providers].join(' ');
  if (!words.every((word) => everywhere.includes(word))) return undefined;
  if (name === words.join(' ')) return 0;
  if (name.startsWith(words[0] ?? '')) return 1;
  return words.every((word) => name.includes(word)) ? 2 : 3;
}
