import type { RestoreStatus } from '@belay/contract/admin';
import { comparisons, leftovers } from '@belay/db';
import { asc, eq, isNull } from 'drizzle-orm';
import type { ActorStore, Store } from '../../context.js';
import { requireOverseer } from '../../people/oversight.js';
import { readGate } from './gate.js';

/** Returns whether grants wait after a restore, and for what. Throws `forbidden`. */
export async function readRestore(ctx: ActorStore): Promise<RestoreStatus> {
  requireOverseer(ctx);
  const gate = await readGate(ctx);
  if (!gate) return { closed_since: null, reason: null, providers: [], leftovers: [] };
  const [providers, open] = await Promise.all([readComparisons(ctx, gate.epoch), readOpen(ctx)]);
  return { closed_since: gate.closedAt.toISOString(), reason: gate.reason, providers, leftovers: open };
}

/** Returns the names of the providers that may hold access, by the configuration in force. */
export function providersToCompare(ctx: Store): string[] {
  const { providers } = ctx.catalog.current();
  return [...providers.values()].filter(({ capabilities }) => capabilities.has('authorizer')).map(({ id }) => id);
}

async function readComparisons(ctx: Store, epoch: number): Promise<RestoreStatus['providers']> {
  const rows = await ctx.db.select().from(comparisons).where(eq(comparisons.epoch, epoch));
  const known = new Map(rows.map((row) => [row.provider, row]));
  return providersToCompare(ctx)
    .sort()
    .map((provider) => {
      const row = known.get(provider);
      if (row?.comparedAt) return { provider, status: row.skipped ? 'skipped' : 'compared', note: row.skipped };
      const { by, reason } = row?.proposal ?? {};
      const skip = by === undefined || reason === undefined ? {} : { skip: { by, reason } };
      return { provider, status: row?.lastError ? 'failed' : 'waiting', note: row?.lastError ?? null, ...skip };
    });
}

async function readOpen(ctx: Store): Promise<RestoreStatus['leftovers']> {
  const rows = await ctx.db
    .select()
    .from(leftovers)
    .where(isNull(leftovers.answer))
    .orderBy(asc(leftovers.provider), asc(leftovers.identity), asc(leftovers.id));
  return rows.map(({ id, provider, identity, access, mark, foundAt }) => ({
    id,
    provider,
    identity,
    access,
    mark,
    found_at: foundAt.toISOString(),
  }));
}
