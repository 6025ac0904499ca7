import type { Transport } from '../transport/create-transport.js';
import { pageOf } from '../transport/page-of.js';
import type {
  AuthorizationStart,
  CallOptions,
  Capability,
  PageOptions,
  Provider,
  ProviderIdentities,
  ProviderList,
  ProviderPermissions,
  ProviderRoles,
  SessionAuthorization,
} from '../types.js';

/** A search term and a page, in addition to the usual options; the best matches come first. */
export interface SearchOptions extends PageOptions {
  q?: string | undefined;
}

/** The providers that the caller may see, with their roles, permissions and identities. */
export interface ProvidersResource {
  /** With `capability`, returns only providers that offer at least one of the given ones. */
  list(filter?: { capability?: Capability[] }, options?: CallOptions): Promise<ProviderList>;
  get(provider: string, options?: CallOptions): Promise<Provider>;
  roles(provider: string, options?: SearchOptions): Promise<ProviderRoles>;
  permissions(provider: string, options?: SearchOptions): Promise<ProviderPermissions>;
  identities(provider: string, options?: SearchOptions): Promise<ProviderIdentities>;
  /** Starts to open, or renew, the caller's session with a provider; send the person to `url`. */
  authorizeSession(provider: string, request: SessionAuthorization, options?: CallOptions): Promise<AuthorizationStart>;
}

function search(provider: string, { q, ...page }: SearchOptions) {
  return { provider, ...(q === undefined ? {} : { q }), ...pageOf(page) };
}

export function createProviders(transport: Transport): ProvidersResource {
  return {
    list: (filter = {}, options) => transport.query('providers.list', filter, options),
    get: (provider, options) => transport.query('providers.get', { provider }, options),
    roles: (provider, options = {}) => transport.query('providers.roles', search(provider, options), options),
    permissions: (provider, options = {}) =>
      transport.query('providers.permissions', search(provider, options), options),
    identities: (provider, options = {}) => transport.query('providers.identities', search(provider, options), options),
    authorizeSession: (provider, request, options) =>
      transport.mutate('providers.authorizeSession', { provider, ...request }, options),
  };
}
