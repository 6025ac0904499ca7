import { AccessError, type ErrorIssue } from '@belay/contract/errors';
import { catalogs, type Database, inOrder, type Transaction, toldKinds } from '@belay/db';
import { desc, notInArray, sql } from 'drizzle-orm';
import { inOnePiece } from '../breathe.js';
import type { Catalog } from '../configuration/catalog.js';
import { type CompileOptions, compileCatalog, versionText } from '../configuration/compile.js';
import { writeDocument } from '../configuration/write-document.js';
import { appendLedger } from '../ledger/append.js';
import { askTargets } from './ask-targets.js';
import { type AskedTargets, lookAtTargets, selectPlaces, storeAddresses } from './targets.js';

/**
 * Puts a configuration in force as one new version, or rejects it as a whole (docs/architecture.md, section 11). The
 * same document as the one in force creates no version. Throws `invalid` with one issue per error.
 */
export async function applyCatalog(
  db: Database,
  input: { document: unknown; source: string },
  options: CompileOptions,
): Promise<{ version: number; applied: boolean; warnings: Catalog['warnings'] }> {
  const result = await compileCatalog(input.document, options);
  if (!result.ok) throw new AccessError('invalid', 'The configuration was rejected', { issues: result.issues });
  const { catalog } = result;
  const { text } = await writeDocument(catalog.document, options.breathe ?? inOnePiece);
  const asked: AskedTargets = new Map();
  for (;;) {
    await askTargets(db, catalog, asked);
    const applied = await db.transaction((tx) => apply(tx, { catalog, text, source: input.source }, asked));
    // Access has been granted meanwhile at a provider whose target was not read: read it now.
    if (applied !== 'unasked') return { ...applied, warnings: catalog.warnings };
  }
}

async function apply(
  tx: Transaction,
  { catalog, text, source }: { catalog: Catalog; text: string; source: string },
  asked: AskedTargets,
): Promise<{ version: number; applied: boolean } | 'unasked'> {
  // Processes that start together apply the same files and create one version. Intents that were planned with the
  // previous version are waited for; later ones see the new version.
  const [, [latest], places] = await inOrder([
    tx.execute(sql`lock table ${catalogs} in share row exclusive mode`),
    tx
      .select({ version: catalogs.version, digest: catalogs.digest })
      .from(catalogs)
      .orderBy(desc(catalogs.version))
      .limit(1),
    selectPlaces(tx),
  ]);
  const held = await lookAtTargets(tx, catalog, asked, places);
  if (held === 'unasked') return 'unasked';
  refuseIssues(held.issues);
  // The same document may lead to another address: its references are read from the environment and the vault.
  await storeAddresses(tx, catalog, asked);
  await storeToldKinds(tx, catalog);
  if (latest?.digest === catalog.digest) return { version: latest.version, applied: false };
  const version = (latest?.version ?? 0) + 1;
  // The text was written in pieces: the driver would write a long document without yielding.
  const document = sql`${text}::text::jsonb`;
  await tx.insert(catalogs).values({ version, document, digest: catalog.digest, source });
  await appendLedger(tx, [
    {
      type: 'catalog.applied',
      message: `The configuration ${versionText(version)} is in force`,
      actor: { kind: 'system', name: 'catalog' },
      data: { version, source, digest: catalog.digest },
    },
  ]);
  return { version, applied: true };
}

/** Stores the kinds of notices that the triggers of the database write. */
async function storeToldKinds(tx: Transaction, { document }: Catalog): Promise<void> {
  const kinds = document.messages?.kinds ?? [];
  await tx.delete(toldKinds).where(notInArray(toldKinds.kind, kinds));
  if (kinds.length > 0) {
    await tx
      .insert(toldKinds)
      .values(kinds.map((kind) => ({ kind })))
      .onConflictDoNothing();
  }
}

function refuseIssues(issues: ErrorIssue[]): void {
  if (issues.length > 0) throw new AccessError('invalid', 'The configuration was rejected', { issues });
}
