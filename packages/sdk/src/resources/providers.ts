import type { Transport } from '../transport/create-transport.js';
import type {
  AuthorizationStart,
  CallOptions,
  Capability,
  Provider,
  ProviderIdentities,
  ProviderList,
  ProviderPermissions,
  ProviderRoles,
  SessionAuthorization,
} from '../types.js';

/** A search term beside the usual options. */
export interface SearchOptions extends CallOptions {
  q?: string | undefined;
}

/** The providers the caller may see, and what there is at them. */
export interface ProvidersResource {
  /** With `capability`, only those that offer any of the named ones. */
  list(filter?: { capability?: Capability[] }, options?: CallOptions): Promise<ProviderList>;
  get(provider: string, options?: CallOptions): Promise<Provider>;
  roles(provider: string, options?: SearchOptions): Promise<ProviderRoles>;
  permissions(provider: string, options?: SearchOptions): Promise<ProviderPermissions>;
  identities(provider: string, options?: SearchOptions): Promise<ProviderIdentities>;
  /** Begins to open, or renew, the caller's session with a provider; send the person to `url`. */
  authorizeSession(provider: string, request: SessionAuthorization, options?: CallOptions): Promise<AuthorizationStart>;
}

function search(provider: string, q: string | undefined): { provider: string; q?: string } {
  return q === undefined ? { provider } : { provider, q };
}

export function createProviders(transport: Transport): ProvidersResource {
  return {
    list: (filter = {}, options) => transport.query('providers.list', filter, options),
    get: (provider, options) => transport.query('providers.get', { provider }, options),
    roles: (provider, { q, ...options } = {}) => transport.query('providers.roles', search(provider, q), options),
    permissions: (provider, { q, ...options } = {}) =>
      transport.query('providers.permissions', search(provider, q), options),
    identities: (provider, { q, ...options } = {}) =>
      transport.query('providers.identities', search(provider, q), options),
    authorizeSession: (provider, request, options) =>
      transport.mutate('providers.authorizeSession', { provider, ...request }, options),
  };
}
