import { ClientSecretCredential, DefaultAzureCredential, type TokenCredential } from '@azure/identity';
import type { ServiceTools } from '../services/port.js';

interface Settings {
  tenant_id?: string | undefined;
  client_id?: string | undefined;
  client_secret?: string | undefined;
  authority?: string | undefined;
}

/** What every client of Azure is made with. Retries are ours, so that all services wait equally long. */
export function clientSettings(tools: ServiceTools) {
  return {
    retryOptions: { maxRetries: 0 },
    ...(tools.certificateAuthority !== undefined && { tlsOptions: { ca: tools.certificateAuthority } }),
  };
}

/** A client of the tenant with its secret, or whatever the machine has: environment, workload or managed identity. */
export function openCredential(config: Settings, tools: ServiceTools): TokenCredential {
  const { tenant_id, client_id, client_secret, authority } = config;
  if (tenant_id === undefined || client_id === undefined || client_secret === undefined) {
    return new DefaultAzureCredential(clientSettings(tools));
  }
  return new ClientSecretCredential(tenant_id, client_id, client_secret, {
    ...clientSettings(tools),
    // An authority of one's own (a sovereign cloud, say) is not among those that the public one vouches for.
    ...(authority !== undefined && { authorityHost: authority, disableInstanceDiscovery: true }),
  });
}
