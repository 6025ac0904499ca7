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
  /** Cursor of the next page; null when there is none. */
  next: string | null;
}

export interface ProviderPermissions {
  version: string;
  provider: string;
  permissions: { name: string; description: string }[];
  /** Cursor of the next page; null when there is none. */
  next: string | null;
}

export interface SessionAuthorization {
  /** Of those that the provider's configuration allows; none: its own. */
  scopes: string[];
  /** Handed back at the redirect URI as it is. */
  state: string;
  redirect_uri: string;
}

export interface AuthorizationStart {
  /** Where to send the person. */
  url: string;
  /** Seconds. */
  expires_in: number;
}

export interface ProviderIdentities {
  version: string;
  provider: string;
  identities: { id: string; name: string; email: string }[];
  /** Cursor of the next page; null when there is none. */
  next: string | null;
}
