import { toOneLine } from '@belay/contract/text';
import { driftAudits, drifts, execute, notices, sqlText, type Transaction } from '@belay/db';
import { within } from '@belay/providers';
import { and, count, eq, lt, sql } from 'drizzle-orm';
import type { Store } from '../context.js';
import { appendLedger, type LedgerEntry } from '../ledger/append.js';
import { compareProvider, type Difference } from './compare.js';
import { oweRevocation } from './restore/answer.js';
import { describeDifference } from './restore/compare-due.js';
import { readGate } from './restore/gate.js';
import { providersToCompare } from './restore/status.js';

/** How long one comparison may take, in milliseconds; the provider is left alone by other workers for longer. */
const patience = 5 * 60_000;
const lease = '6 minutes';
/** So many differences of one provider are told and counted; more have one cause. */
const most = 1_000;

const actor = { kind: 'system', name: 'drift audit' } as const;

/**
 * Compares one provider that is due with its rows (docs/architecture.md, section 8) and returns its name; null when none is
 * due. What differs is told once, in the ledger, and counted as long as it lasts. Only access that carries the mark of its own
 * row, which says that it is gone, is acted on: it is revoked. Everything else may be standing access, or the removal by a
 * person who had a reason. A provider is compared first when one interval has passed since it became known.
 */
export async function auditDrift(ctx: Store, signal: AbortSignal): Promise<string | null> {
  // A restore compares everything by itself.
  if (await readGate(ctx)) return null;
  const provider = await takeDue(ctx);
  if (provider === null) return null;
  const { differences } = await compareProvider(ctx, provider, within(signal, patience));
  await ctx.db.transaction(async (tx) => {
    await tellNew(ctx, tx, provider, differences.filter(isSettled).slice(0, most));
    const next = sql`app_now() + ${intervalOf(ctx)}::interval`;
    const audited = { dueAt: next, auditedAt: sql`app_now()` };
    await tx.update(driftAudits).set(audited).where(eq(driftAudits.provider, provider));
    // What this comparison did not see has ended.
    await tx.delete(drifts).where(and(eq(drifts.provider, provider), lt(drifts.seenAt, sql`app_now()`)));
  });
  return provider;
}

function intervalOf(ctx: Store): string {
  return `${ctx.catalog.current().driftInterval ?? ctx.timing.drift} milliseconds`;
}

/**
 * Takes the provider that has been due longest for this worker, and writes down those that are new. None is due later than one
 * interval from now, so that a shorter one counts at once.
 */
async function takeDue(ctx: Store): Promise<string | null> {
  const interval = sqlText`${intervalOf(ctx)}::interval`;
  const providers = sqlText`${JSON.stringify(providersToCompare(ctx))}::text::jsonb`;
  const [row] = await execute<{ provider: string }>(
    ctx.db,
    sqlText`
    with known as (
      insert into ${driftAudits} (provider, due_at)
      select name, app_now() + ${interval} from jsonb_array_elements_text(${providers}) as name
      where not exists (select from ${driftAudits} a where a.provider = name)
      on conflict do nothing),
    sooner as (update ${driftAudits} set due_at = app_now() + ${interval} where due_at > app_now() + ${interval})
    update ${driftAudits} set due_at = app_now() + ${lease}::interval where provider = (
      select provider from ${driftAudits} where due_at <= app_now() and ${providers} ? provider
      order by due_at limit 1 for update skip locked)
    returning provider`,
  );
  return row?.provider ?? null;
}

/** Whether nothing is in progress that will end the difference by itself. */
function isSettled({ kind, state }: Difference): boolean {
  if (kind === 'unknown') return true;
  return (kind === 'leftover' && state === 'absent') || (kind === 'missing' && state === 'granted');
}

async function tellNew(ctx: Store, tx: Transaction, provider: string, found: readonly Difference[]): Promise<void> {
  const rows = found.map((one) => ({ one, row: describeDifference(ctx, provider, one) }));
  const seen = await execute<{ key: string; kind: string; fresh: boolean }>(
    tx,
    sqlText`
    insert into ${drifts} as d (key, kind, provider)
    select distinct key, kind, ${provider} from jsonb_to_recordset(${JSON.stringify(
      rows.map(({ one, row }) => ({ key: row.key, kind: one.kind })),
    )}::text::jsonb) as found (key text, kind text)
    on conflict (key, kind) do update set seen_at = app_now()
    returning key, kind, found_at = seen_at as fresh`,
  );
  const isNew = new Set(seen.filter(({ fresh }) => fresh).map(({ kind, key }) => `${kind} ${key}`));
  const told = rows.filter(({ one, row }) => isNew.has(`${one.kind} ${row.key}`));
  for (const { one, row } of told) if (isOurs(one)) await oweRevocation(tx, row);
  const entries = told.map(({ one }) => entryOf(provider, one));
  await appendLedger(tx, entries);
  const messages = entries.map(({ message }) => message);
  if (messages.length > 0) await tellOperators(ctx, tx, provider, messages);
}

/** So many differences are in the words of one message; the audit log has all. */
const spoken = 10;

/** Has operators told of new differences at a provider, in one message, where the configuration tells of them. */
async function tellOperators(ctx: Store, tx: Transaction, provider: string, found: readonly string[]): Promise<void> {
  const told = ctx.catalog.current().document.messages;
  if (!told?.kinds.includes('access.drifted') || told.operators.length === 0) return;
  // Names that people chose at the provider stay on their line.
  const lines = found.slice(0, spoken).map(toOneLine);
  const more = found.length > spoken ? [`and ${found.length - spoken} more`] : [];
  const text = [`Access at ${provider} differs from what Belay granted`, ...lines, ...more].join('\n');
  const key = sql`${`access.drifted:${provider}:`} || extract(epoch from app_now())`;
  await tx.insert(notices).values({ key, kind: 'access.drifted', urgent: true, text }).onConflictDoNothing();
}

/** Whether it carries the mark of its own row, so that Belay granted it. */
function isOurs({ kind, entitlementId, mark }: Difference): boolean {
  return kind === 'leftover' && entitlementId !== null && mark === entitlementId;
}

function entryOf(provider: string, one: Difference): LedgerEntry {
  const { kind, identity, access, entitlementId, mark } = one;
  const messages = {
    leftover: isOurs(one)
      ? `${identity} holds access at ${provider} that Belay had granted and revoked; it is being revoked again`
      : `${identity} holds access at ${provider} that Belay had revoked and did not grant since`,
    unknown: `${identity} holds access at ${provider} that Belay did not grant`,
    missing: `${identity} no longer holds access at ${provider} that Belay granted; it was removed there`,
    unread: '',
  };
  return {
    type: 'drift.found',
    level: 'warning',
    message: messages[kind],
    actor,
    provider,
    ...(entitlementId === null ? {} : { entitlementId }),
    data: { kind, access, mark },
  };
}

/** Returns how many differences between providers and rows last. */
export async function countDrifts(ctx: Store): Promise<number> {
  const [row] = await ctx.db.select({ count: count() }).from(drifts);
  return row?.count ?? 0;
}
