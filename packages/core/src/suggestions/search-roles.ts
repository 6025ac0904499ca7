import { limits } from '@belay/contract/limits';
import type { PageOf } from '@belay/contract/paging';
import { breatheBy } from '../breathe.js';
import { rolesConcerning } from '../catalog/audiences.js';
import { listRoles } from '../catalog/roles.js';
import type { CompiledRole } from '../configuration/catalog.js';
import type { ActorStore } from '../context.js';
import { lexicalSuggester } from './lexical.js';
import { listRequestable } from './requestable.js';

/** A text of at least so many words is also read as a sentence that describes a need. */
const sentence = 2;

/**
 * Returns the roles that the caller may see and request (GET /roles). With `q`, returns only those that match its words in name,
 * description or providers, best first, then those that the lexical matcher finds for a sentence. Calls no language model.
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

/** Returns the rank of a role that contains all these words, 0 as the best; undefined when the role lacks a word. */
function rankOf(role: CompiledRole, words: readonly string[]): number | undefined {
  const name = role.name.toLowerCase();
  const everywhere = [name, role.definition.description.toLowerCase(), ...role.providers].join(' ');
  if (!words.every((word) => everywhere.includes(word))) return undefined;
  if (name === words.join(' ')) return 0;
  if (name.startsWith(words[0] ?? '')) return 1;
  return words.every((word) => name.includes(word)) ? 2 : 3;
}
