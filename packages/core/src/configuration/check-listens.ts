import type { ErrorIssue } from '@belay/contract/errors';
import { type JsonObject, listTasks, type Workflow } from '@belay/workflow';
import { z } from 'zod';

/** `metadata.from` of a `listen`: the senders whose events it accepts. */
const fromSchema = z
  .strictObject({
    requester: z.literal(true).optional(),
    approvers: z.literal(true).optional(),
    groups: z.array(z.string().min(1)).min(1).optional(),
    sources: z.array(z.string().min(1)).min(1).optional(),
  })
  .refine((from) => Object.keys(from).length > 0, 'must name requester, approvers, groups or sources');
export type From = z.infer<typeof fromSchema>;

/** Returns the senders whose events a `listen` accepts; undefined when its metadata has no valid `from`. */
export function fromOf(metadata: JsonObject | undefined): From | undefined {
  const parsed = fromSchema.safeParse(metadata?.from);
  return parsed.success ? parsed.data : undefined;
}

/** Returns whether a workflow grants access, by a task at any depth or by one of its functions. */
export function grants(workflow: Workflow): boolean {
  return listTasks(workflow).some(({ task }) => task.call === 'access.grant');
}

/**
 * Checks that each `listen` of a workflow that grants access names its senders (`metadata.from`), and that the named
 * senders exist. Adds an issue per error.
 */
export function checkListens(
  name: string,
  workflow: Workflow,
  sources: ReadonlyMap<string, unknown>,
  issues: ErrorIssue[],
): void {
  const tasks = listTasks(workflow);
  const granting = grants(workflow);
  const asking = tasks.some(({ task }) => task.call === 'access.approve');
  for (const { path, task } of tasks) {
    if (task.listen === undefined) continue;
    const at = `workflows.${name}.workflow${path}/metadata/from`;
    const from = (task.metadata as JsonObject | undefined)?.from;
    if (from === undefined) {
      if (granting) {
        issues.push({
          path: at,
          message:
            'is required, because the workflow grants access: name who may send the events (requester: true, approvers: true, groups or sources)',
        });
      }
      continue;
    }
    const parsed = fromSchema.safeParse(from);
    if (!parsed.success) {
      issues.push(
        ...parsed.error.issues.map(({ path: inner, message }) => ({ path: [at, ...inner].join('/'), message })),
      );
      continue;
    }
    if (parsed.data.approvers === true && !asking) {
      issues.push({
        path: `${at}/approvers`,
        message: 'is not allowed: the workflow has no access.approve, so it has no approvers',
      });
    }
    for (const source of parsed.data.sources ?? []) {
      if (!sources.has(source)) issues.push({ path: `${at}/sources`, message: `events.sources has no "${source}"` });
    }
  }
}
