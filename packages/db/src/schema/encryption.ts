import { sql } from 'drizzle-orm';
import { pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { appNow, bytes, instant } from './columns.js';

/** A data key, wrapped by the key of a key management service; it opens nothing without that service. */
export const encryptionKeys = pgTable(
  'encryption_keys',
  {
    /** Digest of the key itself: a result of unwrapping that does not match it is rejected. */
    kid: text('kid').primaryKey(),
    wrapped: bytes('wrapped').notNull(),
    /** Which key wrapped it, with its version, as the service reports. */
    wrappedBy: text('wrapped_by').notNull(),
    /** The service and the key that are configured for it. */
    service: text('service').notNull(),
    createdAt: instant('created_at').notNull().default(appNow),
    /** After this time the key seals nothing more; it can still open what it sealed. */
    retiredAt: instant('retired_at'),
  },
  (table) => [uniqueIndex('one_encryption_key_seals_idx').on(table.service).where(sql`${table.retiredAt} is null`)],
);
