import type { EventType } from '@belay/contract/event-types';
import {
  type Database,
  ledger,
  rawText,
  type SqlText,
  type Statement,
  sqlText,
  type Transaction,
  taskEvents,
  watches,
} from '@belay/db';
import type { Appending, EngineActor, LedgerEntry as EntryOfEngine, TaskEntry } from '@belay/engine';
import type { Actor } from '../context.js';

export interface LedgerEntry extends Omit<EntryOfEngine, 'actor' | 'type'> {
  type: EventType;
  actor: Actor;
}

/** The channel on which the database announces executions with new entries, while a process watches them. */
export const ledgerChannel = 'belay_ledger';

/**
 * Appends to the ledger, in the transaction of the changes that it describes, so that the two cannot disagree
 * (docs/architecture.md, section 5). All rows are one parameter: entries are written with every transition, and a
 * statement with one text is prepared once. Watched executions are notified at the commit; others are not, because
 * commits with a notification wait for each other. Returns the statement, which is sent when it is awaited or given to
 * `inOrder`; nothing when there are no entries.
 */
export function appendLedger(
  tx: Transaction | Database,
  entries: readonly (LedgerEntry | TaskEntry)[],
): (Statement & PromiseLike<unknown>) | undefined {
  if (entries.length === 0) return undefined;
  return tx.execute(sqlText`with ${appending(entries)} select count(*) from notified`);
}

/**
 * Returns the common table expressions by which a statement appends together with its changes; the statement must read
 * `notified`.
 */
export function appending(
  entries: readonly (EntryOfEngine | TaskEntry)[],
  { when, on, entitlement }: Appending = {},
): SqlText {
  return sqlText`
    entry as materialized (
    select nextval('ledger_seq_seq') as seq, entry.*
    from ${when ? sqlText`${when}, ` : sqlText``}jsonb_to_recordset(${JSON.stringify(entries.map(toRow))}::text::jsonb) as entry (
      type text, level text, message text, actor jsonb, user_id uuid, provider text, execution_id uuid,
      entitlement_id uuid, data jsonb, nth int, events jsonb)
    ${on ? sqlText`where ${on}` : sqlText``}),
    written as (
    insert into ${ledger} (seq, type, level, message, actor, user_id, provider, execution_id, entitlement_id, data)
    select seq, type, level, message, actor, user_id, provider, execution_id, ${entitlement ?? sqlText`entitlement_id`}, data
    from entry where nth is null),
    kept as (
    insert into ${taskEvents} (execution_id, seq, nth, actor, user_id, events)
    select execution_id, seq, nth, actor, user_id, events from entry where nth is not null),
    notified as materialized (${notifyingOf(entries, when)})`;
}

/** Returns the query that notifies of the entries' executions, when these are known in advance. */
function notifyingOf(entries: readonly (EntryOfEngine | TaskEntry)[], when?: SqlText): SqlText {
  const ids = new Set(entries.flatMap(({ executionId }) => executionId ?? []));
  return sqlText`
    select pg_notify(${rawText(`'${ledgerChannel}'`)}, execution_id::text) from ${watches}
    where execution_id = any(${`{${[...ids].join(',')}}`}::text::uuid[]) and until > app_now()
      ${when ? sqlText`and exists (select from ${when})` : sqlText``}`;
}

/** Returns an entry in the form of the parameter; missing values are null. */
function toRow(entry: EntryOfEngine | TaskEntry): object {
  const { actor, userId } = entry;
  const common = { user_id: userId, execution_id: entry.executionId };
  if ('events' in entry) return { ...common, actor: describeActor(actor), nth: entry.nth, events: entry.events };
  return {
    ...common,
    actor: describeActor(actor, userId),
    type: entry.type,
    level: entry.level ?? 'info',
    message: entry.message,
    provider: entry.provider,
    entitlement_id: entry.entitlementId,
    data: entry.data ?? undefined,
  };
}

/**
 * Returns the insert for a statement that appends entries about its own changes: `rows` selects type, level, message, actor,
 * user, provider, execution, entitlement and data, in this order. Belongs in a common table expression `told`, beside
 * `notifying()`.
 */
export function writingLedger(rows: SqlText): SqlText {
  return sqlText`
    insert into ${ledger} (type, level, message, actor, user_id, provider, execution_id, entitlement_id, data) ${rows}
    returning execution_id`;
}

/** Returns the query that notifies of the watched executions of the expression `told`. It runs only where its result is read. */
export function notifying(): SqlText {
  return sqlText`
    select pg_notify(${rawText(`'${ledgerChannel}'`)}, execution_id::text)
    from (select distinct execution_id from told) as told join ${watches} using (execution_id)
    where until > app_now()`;
}

/**
 * Returns the actor as the ledger stores it: enough for an auditor, without any credential. Most entries are of the
 * service itself, so these have only `system`; older entries have `kind` and `name`. `about` is the person whom the entry is
 * about. When they acted themselves, their id is the entry's `user_id` and is not stored twice (in older entries it is).
 */
export function describeActor(acting: EngineActor, about?: string | null): object {
  // Every actor is one of core's: the engine only passes them on.
  const actor = acting as Actor;
  if (actor.kind === 'system') return { system: actor.name };
  if (actor.kind !== 'user') return actor;
  const { kind, id, email, provider } = actor;
  return id === about ? { kind, email, provider } : { kind, id, email, provider };
}

/** Returns a complete actor without its `id` in rows where that is the `user_id`, as `describeActor` does. */
export function actorOfRow(actor: SqlText): SqlText {
  return sqlText`(${actor}) - case when user_id::text = (${actor}) ->> 'id' then 'id' else '' end`;
}
