import { sql } from 'drizzle-orm';
import { check, foreignKey, index, integer, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { appNow, instant, json } from './columns.js';
import { users } from './people.js';

export const executionStatuses = [
  'pending',
  'running',
  'waiting',
  'suspended',
  'completed',
  'faulted',
  'cancelled',
  'terminated',
] as const;
export type ExecutionStatus = (typeof executionStatuses)[number];

/** The workflows that executions were started with, one row per content. Never changed, never deleted. */
export const definitions = pgTable('definitions', {
  digest: text('digest').primaryKey(),
  document: json<unknown>('document').notNull(),
});

/** One run of a workflow: its definition at the start, its input, and its continuation. */
export const executions = pgTable(
  'executions',
  {
    id: uuid('id').primaryKey(),
    workflow: text('workflow').notNull(),
    /** Only in rows of an older version, which stored the definition in each execution. */
    definition: json<unknown>('definition'),
    /** The id of the row in `definitions`. */
    definitionDigest: text('definition_digest').notNull(),
    catalogVersion: integer('catalog_version').notNull(),
    ownerId: uuid('owner_id')
      .notNull()
      .references(() => users.id),
    input: json<unknown>('input').notNull(),
    status: text('status').$type<ExecutionStatus>().notNull(),
    /** The state of the machine, without its copies of the input (`storeState`). */
    state: json<unknown>('state').notNull(),
    /** Rises with every move: a worker that decided on an older state must decide again. */
    version: integer('version').notNull().default(0),
    output: json<unknown>('output'),
    fault: json<unknown>('fault'),
    /** How many task events happened, kept or not. */
    taskEvents: integer('task_events').notNull().default(0),
    cancelRequestedAt: instant('cancel_requested_at'),
    /** The execution whose access this one extends. */
    extendsId: uuid('extends_id'),
    createdAt: instant('created_at').notNull().default(appNow),
    startedAt: instant('started_at'),
    endedAt: instant('ended_at'),
  },
  (table) => [
    foreignKey({ name: 'executions_extends_fk', columns: [table.extendsId], foreignColumns: [table.id] }),
    // Two open extensions would request the same approval twice; the second one is a conflict.
    uniqueIndex('executions_have_one_extension_at_a_time')
      .on(table.extendsId)
      .where(sql`${table.extendsId} is not null and ${table.endedAt} is null`),
    index('executions_extends_idx').on(table.extendsId).where(sql`${table.extendsId} is not null`),
    index('executions_of_owner_idx').on(table.ownerId, table.createdAt, table.id),
    index('executions_by_time_idx').on(table.createdAt, table.id),
    index('executions_running_idx').on(table.ownerId, table.createdAt).where(sql`${table.endedAt} is null`),
    check(
      'execution_status_is_known',
      sql`${table.status} in ('pending', 'running', 'waiting', 'suspended', 'completed', 'faulted', 'cancelled', 'terminated')`,
    ),
    check(
      'execution_has_ended_exactly_when_its_status_is_final',
      sql`(${table.endedAt} is not null) = (${table.status} in ('completed', 'faulted', 'cancelled', 'terminated'))`,
    ),
  ],
);

/** `turn`: not a step of the workflow, but the mark that an outcome or event of the execution must be applied. */
export type StepKind = 'call' | 'timer' | 'event' | 'turn';
export type StepStatus = 'open' | 'done' | 'failed' | 'closed';

/** Something an execution waits for; resolved exactly once, in the transaction that writes the next state. */
export const steps = pgTable(
  'steps',
  {
    executionId: uuid('execution_id')
      .notNull()
      .references(() => executions.id),
    key: text('key').notNull(),
    kind: text('kind').$type<StepKind>().notNull(),
    status: text('status').$type<StepStatus>().notNull(),
    request: json<unknown>('request').notNull(),
    /** What the step waits for now, in words for people: an approval, a provider that is down. */
    waitingFor: text('waiting_for'),
    attempt: integer('attempt').notNull().default(0),
    dueAt: instant('due_at'),
    leaseUntil: instant('lease_until'),
    /**
     * The id of the latest claim, chosen by its process in advance, and the attempt of that claim; `freeLostStep`
     * searches for it.
     */
    claim: text('claim'),
    /** How often its turn or its call failed in a row with an internal error. */
    failures: integer('failures').notNull().default(0),
    /**
     * The result of a call, in the form that the machine reads; an open step with an outcome waits for the execution's
     * turn.
     */
    outcome: json<unknown>('outcome'),
    outcomeAt: instant('outcome_at'),
    openedAt: instant('opened_at').notNull().default(appNow),
    closedAt: instant('closed_at'),
  },
  (table) => [
    primaryKey({ name: 'steps_pk', columns: [table.executionId, table.key] }),
    index('steps_due_idx').on(table.dueAt).where(sql`${table.status} = 'open' and ${table.kind} <> 'event'`),
    index('steps_failing_idx').on(table.executionId).where(sql`${table.status} = 'open' and ${table.failures} > 0`),
    check('step_kind_is_known', sql`${table.kind} in ('call', 'timer', 'event', 'turn')`),
    check('step_status_is_known', sql`${table.status} in ('open', 'done', 'failed', 'closed')`),
  ],
);

/** The inbox: a CloudEvent that arrived for an execution, once per source and id. */
export const signals = pgTable(
  'signals',
  {
    executionId: uuid('execution_id')
      .notNull()
      .references(() => executions.id),
    source: text('source').notNull(),
    eventId: text('event_id').notNull(),
    type: text('type').notNull(),
    event: json<unknown>('event').notNull(),
    /** The verified sender; null for a signal from before this was stored. */
    sender: json<unknown>('sender'),
    /** The sender's own id of the delivery (Standard Webhooks), by which a repeated delivery is recognised. */
    deliveryId: text('delivery_id'),
    receivedAt: instant('received_at').notNull().default(appNow),
    consumedAt: instant('consumed_at'),
  },
  (table) => [
    primaryKey({ name: 'signals_pk', columns: [table.executionId, table.source, table.eventId] }),
    uniqueIndex('signals_delivery_idx').on(table.source, table.deliveryId).where(sql`${table.deliveryId} is not null`),
    index('signals_unconsumed_idx').on(table.executionId, table.receivedAt).where(sql`${table.consumedAt} is null`),
  ],
);

/** Executions that a process follows now, until a time: only ledger entries of these are notified. */
export const watches = pgTable(
  'watches',
  {
    executionId: uuid('execution_id').primaryKey(),
    until: instant('until').notNull(),
  },
  (table) => [index('watches_until_idx').on(table.until)],
);

/**
 * `Idempotency-Key`: the same key and body return the same execution for 24 hours (docs/interface.md, section 16, rule
 * 16).
 */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    userId: uuid('user_id')
      .notNull()
      .references(() => users.id),
    key: text('key').notNull(),
    requestDigest: text('request_digest').notNull(),
    executionId: uuid('execution_id').notNull(),
    createdAt: instant('created_at').notNull().default(appNow),
  },
  (table) => [
    primaryKey({ name: 'idempotency_keys_pk', columns: [table.userId, table.key] }),
    index('idempotency_keys_created_idx').on(table.createdAt),
  ],
);
