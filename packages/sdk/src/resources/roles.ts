import type { Transport } from '../transport/create-transport.js';
import type { CallOptions, Role, RoleList } from '../types.js';

/** The roles the caller may see and ask for. */
export interface RolesResource {
  /** With `provider`, only those that can be had at any of the named ones. */
  list(filter?: { provider?: string[] }, options?: CallOptions): Promise<RoleList>;
  get(role: string, options?: CallOptions): Promise<Role>;
}

export function createRoles(transport: Transport): RolesResource {
  return {
    list: (filter = {}, options) => transport.query('roles.list', filter, options),
    get: (role, options) => transport.query('roles.get', { role }, options),
  };
}
