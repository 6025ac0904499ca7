import type { Transport } from '../transport/create-transport.js';
import { pageOf } from '../transport/page-of.js';
import type { CallOptions, PageOptions, Role, RoleList } from '../types.js';

/** The roles that the caller can see and request. */
export interface RolesResource {
  /**
   * With `provider`, only those that can be had at any of the named ones; with `q`, those that match words or a
   * sentence, best first.
   */
  list(filter?: { provider?: string[]; q?: string }, options?: PageOptions): Promise<RoleList>;
  get(role: string, options?: CallOptions): Promise<Role>;
}

export function createRoles(transport: Transport): RolesResource {
  return {
    list: (filter = {}, { limit, cursor, ...options } = {}) =>
      transport.query('roles.list', { ...filter, ...pageOf({ limit, cursor }) }, options),
    get: (role, options) => transport.query('roles.get', { role }, options),
  };
}
