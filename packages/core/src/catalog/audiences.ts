import type { Catalog, CompiledRole } from '../configuration/catalog.js';
import type { Actor, UserActor } from '../context.js';
import { addressNaming } from '../people/names.js';

/** Positions of roles in the order of the catalog, by the people and groups that they name. */
interface Audiences {
  roles: readonly CompiledRole[];
  everyone: number[];
  byGroup: Map<string, number[]>;
  byUser: Map<string, number[]>;
}

const known = new WeakMap<Catalog['roles'], Audiences>();

/**
 * Returns the roles that may concern a person, in the order of the catalog: those that name the person, one of their
 * groups, or no audience. `can` decides about each of them, and need not be called for the other roles. Returns all
 * roles for callers who are not people.
 */
export function rolesConcerning(actor: Actor, { roles }: Pick<Catalog, 'roles'>): readonly CompiledRole[] {
  const audiences = known.get(roles) ?? sortRoles(roles);
  known.set(roles, audiences);
  if (actor.kind !== 'user') return audiences.roles;
  const places = new Set(audiences.everyone);
  const mine = [
    audiences.byUser.get(addressNaming(actor)),
    ...actor.groups.map((group) => audiences.byGroup.get(group)),
  ];
  for (const list of mine) for (const place of list ?? []) places.add(place);
  return [...places].sort((one, other) => one - other).flatMap((place) => audiences.roles[place] ?? []);
}

/**
 * Returns a text that is equal only for people who see the same roles: it lists the person's address and groups, as far as a role names
 * them.
 */
export function roleVisibility(actor: UserActor, { roles }: Pick<Catalog, 'roles'>): string {
  const audiences = known.get(roles) ?? sortRoles(roles);
  known.set(roles, audiences);
  const address = addressNaming(actor);
  const groups = actor.groups.filter((group) => audiences.byGroup.has(group)).sort();
  return JSON.stringify([audiences.byUser.has(address) ? address : null, groups]);
}

function sortRoles(all: Catalog['roles']): Audiences {
  const roles = [...all.values()];
  const audiences: Audiences = { roles, everyone: [], byGroup: new Map(), byUser: new Map() };
  for (const [place, { definition }] of roles.entries()) {
    const { users, groups } = definition.permissions ?? {};
    if (users === undefined && groups === undefined) audiences.everyone.push(place);
    for (const user of users ?? []) list(audiences.byUser, addressNaming({ email: user })).push(place);
    for (const group of groups ?? []) list(audiences.byGroup, group).push(place);
  }
  return audiences;
}

function list(lists: Map<string, number[]>, key: string): number[] {
  const found = lists.get(key) ?? [];
  lists.set(key, found);
  return found;
}
