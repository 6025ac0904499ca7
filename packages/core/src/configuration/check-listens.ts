import type { ErrorIssue } from '@belay/contract/errors';
import { type JsonObject, listTasks, type Workflow } from '@belay/workflow';
import { fromSchema, grants } from '../executions/senders.js';

/**
 * Checks that each `listen` of a workflow that grants says whose events count (`metadata.from`), and that what any `listen`
 * says there can be. Adds an issue for each fault.
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
            'is required, because the workflow grants access: say whose events count (requester: true, approvers: true, groups or sources)',
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
      issues.push({ path: `${at}/approvers`, message: 'there are none: the workflow has no access.approve' });
    }
    for (const source of parsed.data.sources ?? []) {
      if (!sources.has(source)) issues.push({ path: `${at}/sources`, message: `events.sources has no "${source}"` });
    }
  }
}
