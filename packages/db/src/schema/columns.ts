import { sql } from 'drizzle-orm';
import { customType, jsonb, timestamp } from 'drizzle-orm/pg-core';

/** Every time comes from this function, so that a test database can move time for every process at once (design §4). */
export const appNow = sql`app_now()`;

/** `timestamptz`, as a Date with millisecond precision. */
export const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date', precision: 3 });

/** `jsonb`, typed. */
export const json = <T>(name: string) => jsonb(name).$type<T>();

/** `bytea`. */
export const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'bytea' });
