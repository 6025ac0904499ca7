import { ClientSecretCredential, DefaultAzureCredential, type TokenCredential } from '@azure/identity';
import type { ServiceTools } from '../services/port.js';

interface Settings {
  tenant_id?: string | undefined;
  client_id?: string | undefined;
  client_secret?: string | undefined;
  authority?: string | undefined;
}

/** Returns the options of every Azure client. The library does not retry: Belay does, with the same limits for all services. */
export function clientSettings(tools: ServiceTools) {
  return {
    retryOptions: { maxRetries: 0 },
    ...(tools.certificateAuthority !== undefined && { tlsOptions: { ca: tools.certificateAuthority } }),
  };
}

/**
 * Returns the credential: a client of the tenant with its secret, or the credential of the machine (environment,
 * workload or managed identity).
 */
export function openCredential(config: Settings, tools: ServiceTools): TokenCredential {
  const { tenant_id, client_id, client_secret, authority } = config;
  if (tenant_id === undefined || client_id === undefined || client_secret === undefined) {
    return new DefaultAzureCredential(clientSettings(tools));
  }
  return new ClientSecretCredential(tenant_id, client_id, client_secret, {
    ...clientSettings(tools),
    // The public authority's list of known authorities does not contain a custom one, for example of a sovereign cloud.
    ...(authority !== undefined && { authorityHost: authority, disableInstanceDiscovery: true }),
  });
}
