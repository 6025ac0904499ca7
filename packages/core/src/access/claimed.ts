import type { Pin } from '@belay/providers';

/** An entitlement that this process holds the lease of, and what it is about to do there. */
export interface Claimed {
  id: string;
  provider: string;
  identity: string;
  access: { [key: string]: unknown };
  /** Null in a row of an older version: it goes by its names until it is pinned. */
  pin: Pin | null;
  fence: number;
  /** When the latest grant call was claimed: the connector's `generation`. */
  generation: string | null;
  failures: number;
  /** When this claim was made: R5 measures from here, not from when the call returned. */
  startedAt: Date;
  task: 'grant' | 'revoke';
  until: Date;
}
