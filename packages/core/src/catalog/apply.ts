import { catalogs, type Database, entitlements, type Transaction } from '@belay/db';
import { desc, ne, sql } from 'drizzle-orm';
import { AccessError } from '../errors.js';
import { appendLedger } from '../ledger/append.js';
import { type Catalog, type CompileOptions, compileCatalog, versionText } from './compile.js';

/**
 * Puts a configuration in force as one new version, or refuses it whole (design §15). The same document as the one in
 * force changes nothing. Throws `invalid` with one issue per fault.
 */
export async function applyCatalog(
  db: Database,
  input: { document: unknown; source: string },
  options: CompileOptions,
): Promise<{ version: number; applied: boolean; warnings: Catalog['warnings'] }> {
  const result = compileCatalog(input.document, options);
  if (!result.ok) throw new AccessError('invalid', 'The configuration was refused', { issues: result.issues });
  const { catalog } = result;
  const { warnings } = catalog;
  return db.transaction(async (tx) => {
    // Processes that start together apply the same files: one version comes of it.
    await tx.execute(sql`lock table ${catalogs} in share row exclusive mode`);
    const [latest] = await tx
      .select({ version: catalogs.version, digest: catalogs.digest })
      .from(catalogs)
      .orderBy(desc(catalogs.version))
      .limit(1);
    if (latest?.digest === catalog.digest) return { version: latest.version, applied: false, warnings };
    await refuseToForget(tx, catalog);
    const version = (latest?.version ?? 0) + 1;
    await tx
      .insert(catalogs)
      .values({ version, document: catalog.document, digest: catalog.digest, source: input.source });
    await appendLedger(tx, [
      {
        type: 'catalog.applied',
        message: `The configuration ${versionText(version)} is in force`,
        actor: { kind: 'system', name: 'catalog' },
        data: { version, source: input.source, digest: catalog.digest },
      },
    ]);
    return { version, applied: true, warnings };
  });
}

/**
 * A provider that holds something on our account cannot be taken out of the configuration: nobody could revoke there any
 * more (R4). Switched off is enough to stop new access, and what is owed is still taken away.
 */
async function refuseToForget(tx: Transaction, catalog: Catalog): Promise<void> {
  const owed = await tx
    .select({ provider: entitlements.provider, count: sql<number>`count(*)::int` })
    .from(entitlements)
    .where(ne(entitlements.state, 'absent'))
    .groupBy(entitlements.provider);
  const forgotten = owed.filter(({ provider }) => !catalog.providers.get(provider)?.connector.plan);
  if (forgotten.length === 0) return;
  throw new AccessError('invalid', 'The configuration was refused', {
    issues: forgotten.map(({ provider, count }) => ({
      path: `providers.${provider}`,
      message: `access that was granted there is not settled yet (${count}); keep the provider, with enabled: false, until it is`,
    })),
  });
}
