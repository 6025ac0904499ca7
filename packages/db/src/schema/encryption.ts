import { sql } from 'drizzle-orm';
import { pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { appNow, bytes, instant } from './columns.js';

/** A data key, wrapped by the key of a key management service; without that service it opens nothing. */
export const encryptionKeys = pgTable(
  'encryption_keys',
  {
    /** Made from the key itself: whatever unwraps to something else is refused. */
    kid: text('kid').primaryKey(),
    wrapped: bytes('wrapped').notNull(),
    /** Which key wrapped it, with its version, as the service says. */
    wrappedBy: text('wrapped_by').notNull(),
    /** The service and the key that are configured for it. */
    service: text('service').notNull(),
    createdAt: instant('created_at').notNull().default(appNow),
    /** From then on it seals nothing more; it still opens. */
    retiredAt: instant('retired_at'),
  },
  (table) => [uniqueIndex('one_encryption_key_seals_idx').on(table.service).where(sql`${table.retiredAt} is null`)],
);
