/** An entitlement that this process holds the lease of, and what it is about to do there. */
export interface Claimed {
  id: string;
  provider: string;
  identity: string;
  access: { [key: string]: unknown };
  fence: number;
  failures: number;
  /** When this claim was made: R5 measures from here, not from when the call returned. */
  startedAt: Date;
  task: 'grant' | 'revoke';
  until: Date;
}
