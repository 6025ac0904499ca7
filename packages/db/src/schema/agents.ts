import { bigint, index, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant } from './columns.js';

/** An agent that an operator enrolled. Only the hash of its credential is kept; enrolling the agent again replaces the hash. */
export const agents = pgTable(
  'agents',
  {
    id: uuid('id').primaryKey(),
    /** The name that the operator gave it. */
    name: text('name').notNull(),
    secretHash: text('secret_hash').notNull(),
    expiresAt: instant('expires_at').notNull(),
    enrolledAt: instant('enrolled_at').notNull().default(appNow),
    /** The environment that it named at its latest registration. */
    environment: text('environment'),
    description: text('description'),
    catalogVersion: bigint('catalog_version', { mode: 'number' }),
    registeredAt: instant('registered_at'),
    seenAt: instant('seen_at'),
  },
  (table) => [
    unique('agents_have_one_name').on(table.name),
    unique('agents_have_one_credential').on(table.secretHash),
    index('agents_seen_idx').on(table.seenAt),
  ],
);
