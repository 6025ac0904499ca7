import { formatDuration } from '@belay/contract/durations';
import type { Access, Json } from '@belay/providers';
import type { Breathe } from '../breathe.js';
import { can } from '../can.js';
import { rolesConcerning } from '../catalog/audiences.js';
import type { Catalog, CompiledRole } from '../configuration/catalog.js';
import type { Store, UserActor } from '../context.js';
import { longestDuration } from '../plans/plan.js';
import type { SuggestibleRole } from '../suggester.js';

/** A role that a person may request now, and its bounds. */
export interface Requestable {
  role: CompiledRole;
  /** The role's providers that the person may see and that can grant. */
  providers: string[];
  workflow: string;
  described: SuggestibleRole;
}

/**
 * Returns the roles that this person can request with this sign-in, by name. Each is enabled, and has an enabled workflow and at
 * least one provider that can grant. A suggester receives only these roles. Calls `breathe` for each role that may concern the
 * person.
 */
export async function listRequestable(
  ctx: Store,
  user: UserActor,
  catalog: Catalog,
  breathe: Breathe,
): Promise<ReadonlyMap<string, Requestable>> {
  const usable = new Set(
    [...catalog.providers.values()]
      .filter(
        (provider) => can(user, 'view', { provider }) && ctx.catalog.client(provider.id)?.authorizer !== undefined,
      )
      .map(({ id }) => id),
  );
  const found = new Map<string, Requestable>();
  for (const role of rolesConcerning(user, catalog)) {
    await breathe();
    if (!can(user, 'request', { role })) continue;
    const { authenticators } = role.definition;
    if (authenticators && !authenticators.includes(user.provider)) continue;
    const providers = role.providers.filter((id) => usable.has(id));
    const [workflow] = role.workflows;
    if (providers.length === 0 || workflow === undefined || !catalog.workflows.get(workflow)?.enabled) continue;
    found.set(role.name, { role, providers, workflow, described: describe(catalog, role, providers) });
  }
  return found;
}

/** Returns the longest duration of a role that all of these providers allow, in milliseconds. */
export function longestAt(catalog: Catalog, role: CompiledRole, providers: readonly string[]): number {
  return Math.min(...providers.map((id) => longestDuration(catalog, role, id)));
}

const descriptions = new WeakMap<CompiledRole, Map<string, SuggestibleRole>>();

/** Describes a role for suggesters; once per version of the catalog and set of providers, because compiled roles never change. */
function describe(catalog: Catalog, role: CompiledRole, providers: readonly string[]): SuggestibleRole {
  const known = descriptions.get(role) ?? new Map<string, SuggestibleRole>();
  descriptions.set(role, known);
  const key = providers.join(' ');
  const ready = known.get(key);
  if (ready) return ready;
  const longest = longestAt(catalog, role, providers);
  const made: SuggestibleRole = {
    name: role.name,
    description: role.definition.description,
    providers: providers.map((id) => {
      const definition = catalog.providers.get(id)?.definition;
      return {
        id,
        name: definition?.name ?? id,
        description: definition?.description ?? '',
        type: definition?.provider ?? '',
      };
    }),
    gives: givenBy(role, providers),
    maxDuration: formatDuration(longest),
    defaultDuration: formatDuration(Math.min(role.defaultDuration, longest)),
  };
  known.set(key, made);
  return made;
}

/** Returns the texts in the accesses of a role at these providers, in the words of their connectors; 200 at most. */
function givenBy(role: CompiledRole, providers: readonly string[]): string[] {
  const accesses: Access[] = providers.flatMap((id) => role.accesses.get(id) ?? []);
  return [...new Set(accesses.flatMap((access) => Object.values(access).flatMap(textsOf)))].slice(0, 200);
}

function textsOf(value: Json): string[] {
  if (typeof value === 'string') return [value.slice(0, 200)];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(textsOf) : [];
}
