import { grants } from '@belay/db';
import { type SQL, sql } from 'drizzle-orm';

/** R3: an entitlement is wanted exactly while a live grant claims it. Computed wherever it is asked; stored nowhere. */
export const isLive: SQL = sql`${grants.endedAt} is null and ${grants.expiresAt} > app_now()`;
