import type { Transport } from '../transport/create-transport.js';
import { pageOf } from '../transport/page-of.js';
import type { CallOptions, PageOptions, Role, RoleList, RoleStar, StarredRoles } from '../types.js';

/** The roles that the caller can see and request. */
export interface RolesResource {
  /**
   * With `provider`, returns only roles that can be requested at one of the given providers; with `q`, roles that match words or a
   * sentence, best first.
   */
  list(filter?: { provider?: string[]; q?: string }, options?: PageOptions): Promise<RoleList>;
  get(role: string, options?: CallOptions): Promise<Role>;
  /** Returns the names of the roles that the caller starred, the latest first. */
  starred(options?: CallOptions): Promise<StarredRoles>;
  star(role: string, options?: CallOptions): Promise<RoleStar>;
  unstar(role: string, options?: CallOptions): Promise<RoleStar>;
}

export function createRoles(transport: Transport): RolesResource {
  return {
    list: (filter = {}, { limit, cursor, ...options } = {}) =>
      transport.query('roles.list', { ...filter, ...pageOf({ limit, cursor }) }, options),
    get: (role, options) => transport.query('roles.get', { role }, options),
    starred: (options) => transport.query('roles.starred', undefined, options),
    star: (role, options) => transport.mutate('roles.star', { role }, options),
    unstar: (role, options) => transport.mutate('roles.unstar', { role }, options),
  };
}
