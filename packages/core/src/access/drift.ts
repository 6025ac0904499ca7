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

/** The time limit of one comparison, in milliseconds; the lease is longer, so that no other worker compares beside it. */
const patience = 5 * 60_000;
const lease = '6 minutes';
/** The maximum number of differences of one provider that are reported and counted: more than that have one cause. */
const most = 1_000;

const actor = { kind: 'system', name: 'drift audit' } as const;

/**
 * Compares one provider that is due with its rows (docs/architecture.md, section 8). Returns its name, or null when no
 * provider is due or grants wait after a restore. Each difference is written to the ledger once, and counted while it lasts.
 *
 * Only access with the mark of its own row, which is absent, is revoked. Other differences are only reported: they may be
 * standing access, or a person may have removed the access for a reason. The first comparison is due one interval after the
 * provider became known.
 */
export async function auditDrift(ctx: Store, signal: AbortSignal): Promise<string | null> {
  // After a restore, `compareRestored` compares every provider.
  if (await readGate(ctx)) return null;
  const provider = await takeDue(ctx);
  if (provider === null) return null;
  const { differences } = await compareProvider(ctx, provider, within(signal, patience));
  await ctx.db.transaction(async (tx) => {
    await tellNew(ctx, tx, provider, differences.filter(isSettled).slice(0, most));
    const next = sql`app_now() + ${intervalOf(ctx)}::interval`;
    const audited = { dueAt: next, auditedAt: sql`app_now()` };
    await tx.update(driftAudits).set(audited).where(eq(driftAudits.provider, provider));
    // Differences that this comparison did not find have ended.
    await tx.delete(drifts).where(and(eq(drifts.provider, provider), lt(drifts.seenAt, sql`app_now()`)));
  });
  return provider;
}

function intervalOf(ctx: Store): string {
  return `${ctx.catalog.current().driftInterval ?? ctx.timing.drift} milliseconds`;
}

/**
 * Takes, for this worker, the provider that has been due longest, and stores providers that are new. No provider is due
 * later than one interval from now, so that a shorter interval applies immediately.
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

/** Returns whether the difference lasts: no grant or revocation in progress will end it. */
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

/** The maximum number of differences that one message names; the ledger has all of them. */
const spoken = 10;

/** Queues one message to operators about new differences at a provider, when the configuration has such messages. */
async function tellOperators(ctx: Store, tx: Transaction, provider: string, found: readonly string[]): Promise<void> {
  const told = ctx.catalog.current().document.messages;
  if (!told?.kinds.includes('access.drifted') || told.operators.length === 0) return;
  // A name that a person chose at the provider must not add lines to the message.
  const lines = found.slice(0, spoken).map(toOneLine);
  const more = found.length > spoken ? [`and ${found.length - spoken} more`] : [];
  const text = [`Access at ${provider} differs from what Belay granted`, ...lines, ...more].join('\n');
  const key = sql`${`access.drifted:${provider}:`} || extract(epoch from app_now())`;
  await tx.insert(notices).values({ key, kind: 'access.drifted', urgent: true, text }).onConflictDoNothing();
}

/** Returns whether the access has the mark of its own row, which means that Belay granted it. */
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

/** Returns the number of current differences between providers and rows. */
export async function countDrifts(ctx: Store): Promise<number> {
  const [row] = await ctx.db.select({ count: count() }).from(drifts);
  return row?.count ?? 0;
}
