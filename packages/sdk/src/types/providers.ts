export type Capability = 'authenticator' | 'authorizer' | 'identities' | 'notifications';

export interface ProviderSummary {
  _id: string;
  _source: {
    id: string;
    name: string;
    description: string;
    provider: string;
    enabled: boolean;
    capabilities: string[];
  };
}

export interface ProviderList {
  version: string;
  providers: ProviderSummary[];
}

export interface Provider {
  id: string;
  name: string;
  description: string;
  /** The connector's type, `postgres` for example. */
  provider: string;
  enabled: boolean;
  capabilities: string[];
}

export interface ProviderRoles {
  version: string;
  provider: string;
  roles: { name: string; arn: string; description: string }[];
}

export interface ProviderPermissions {
  version: string;
  provider: string;
  permissions: { name: string; description: string }[];
}

export interface ProviderIdentities {
  version: string;
  provider: string;
  identities: { id: string; name: string; email: string }[];
}
