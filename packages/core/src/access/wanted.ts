import { grants } from '@belay/db';
import { type SQL, sql } from 'drizzle-orm';

/** R3: an entitlement is wanted exactly while a live grant claims it. Computed wherever it is asked; stored nowhere. */
export const isLive: SQL = sql`${grants.endedAt} is null and ${grants.expiresAt} > app_now()`;

export interface Wanted {
  wanted: boolean;
  /** When the first live grant that is active expires. */
  nextExpiry: Date | null;
  /** When the last live grant ends at the latest, one that is not active yet included; what a provider with native expiry is told. */
  until: Date | null;
}
