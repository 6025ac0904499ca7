import { type Database, definitions, executions, type Transaction } from '@belay/db';
import { loadWorkflow, type Workflow } from '@belay/workflow';
import { eq, sql } from 'drizzle-orm';

/** How many definitions a process caches; another one is read and prepared again when it is needed. */
const capacity = 200;
const prepared = new Map<string, Workflow>();
/** The digests that a process knows to be stored, per database. */
const stored = new WeakMap<Database, Set<string>>();

/** Caches a definition under its digest. The digest is that of its content, so an entry can never be stale. */
export function keepWorkflow(digest: string, workflow: Workflow): void {
  prepared.delete(digest);
  prepared.set(digest, workflow);
  const oldest = prepared.keys().next().value;
  if (prepared.size > capacity && oldest !== undefined) prepared.delete(oldest);
}

/**
 * Stores a definition under its digest before an execution is started with it, once per process. Definitions are never
 * deleted, so this needs no transaction with the start.
 */
export async function storeDefinition(db: Database, definition: { digest: string; document: unknown }): Promise<void> {
  const known = stored.get(db) ?? new Set();
  stored.set(db, known);
  if (known.has(definition.digest)) return;
  await db.insert(definitions).values(definition).onConflictDoNothing();
  known.add(definition.digest);
}

/** Makes the next start store its definition again: a database that was restored may have lost it. */
export function forgetDefinition(db: Database, digest: string): void {
  stored.get(db)?.delete(digest);
}

/**
 * Returns the definition that an execution was started with, even when the catalog has changed
 * (docs/architecture.md, section 5). Throws when the execution does not exist.
 */
export async function workflowOf(
  db: Database | Transaction,
  execution: { id: string; definitionDigest: string },
): Promise<Workflow> {
  const ready = prepared.get(execution.definitionDigest);
  if (ready) return ready;
  const [row] = await db
    .select({
      document: sql<unknown>`coalesce(${definitions.document}, ${executions.definition})`.mapWith(definitions.document),
    })
    .from(executions)
    .leftJoin(definitions, eq(definitions.digest, executions.definitionDigest))
    .where(eq(executions.id, execution.id));
  if (!row) throw new Error(`Execution ${execution.id} does not exist any more`);
  const workflow = loadWorkflow(row.document);
  keepWorkflow(execution.definitionDigest, workflow);
  return workflow;
}
