export interface AccessGrant {
  id: string;
  execution_id: string;
  role?: string | null;
  provider: string;
  identity: string;
  access?: unknown;
  granted_at: string | null;
  expires_at: string | null;
  /** What the provider cannot take away with it, in words. */
  residual?: string | null;
  state: string;
}

export interface AccessList {
  access: AccessGrant[];
}
