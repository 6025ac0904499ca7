import { sql } from 'drizzle-orm';
import { customType, timestamp } from 'drizzle-orm/pg-core';

/**
 * Every time comes from this function, so that a test database can move time for every process at once (docs/architecture.md,
 * section 10).
 */
export const appNow = sql`app_now()`;

/** Returns a column of type `timestamptz`, as a Date with millisecond precision. */
export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date', precision: 3 });

/**
 * Returns a typed column of type `jsonb`, whose values are returned unchanged: drizzle's own column parses a text that the driver
 * has already parsed, so the text "123" becomes a number. `null` is stored as SQL's null, and JSON's null is read as null too.
 */
export const json = <T>(name: string) =>
  customType<{ data: T; driverData: string }>({ dataType: () => 'jsonb', toDriver: (value) => JSON.stringify(value) })(
    name,
  );

/** Returns a column of type `bytea`. */
export const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'bytea' });
