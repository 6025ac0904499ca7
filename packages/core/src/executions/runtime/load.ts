import { type Database, executions, type Transaction } from '@belay/db';
import { loadWorkflow, type Workflow } from '@belay/workflow';
import { eq } from 'drizzle-orm';

/** How many definitions a process keeps ready; a definition is fetched and prepared again when it is not among them. */
const capacity = 200;
const prepared = new Map<string, Workflow>();

/** Keeps a definition ready under its digest. The digest is of the content, so an entry can never be stale. */
export function keepWorkflow(digest: string, workflow: Workflow): void {
  prepared.delete(digest);
  prepared.set(digest, workflow);
  const oldest = prepared.keys().next().value;
  if (prepared.size > capacity && oldest !== undefined) prepared.delete(oldest);
}

/** The definition of an execution as it was when it started, whatever the catalog says now (design §5.1). */
export async function workflowOf(
  db: Database | Transaction,
  execution: { id: string; definitionDigest: string },
): Promise<Workflow> {
  const ready = prepared.get(execution.definitionDigest);
  if (ready) return ready;
  const [row] = await db
    .select({ definition: executions.definition })
    .from(executions)
    .where(eq(executions.id, execution.id));
  if (!row) throw new Error(`Execution ${execution.id} is gone`);
  const workflow = loadWorkflow(row.definition);
  keepWorkflow(execution.definitionDigest, workflow);
  return workflow;
}
