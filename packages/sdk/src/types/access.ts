export interface AccessGrant {
  id: string;
  execution_id: string;
  role: string;
  provider: string;
  identity: string;
  access?: unknown;
  granted_at: string | null;
  expires_at: string | null;
  /** How much longer it can work at worst after it was taken away: an ISO 8601 duration. */
  residual: string;
  /** What the holder may leave behind that a revocation does not remove, in a sentence; null for nothing. */
  leaves_behind: string | null;
  state: 'granting' | 'active';
}

export interface AccessList {
  access: AccessGrant[];
}
