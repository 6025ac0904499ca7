import type { Elevation } from '@belay/contract/elevation';
import { renameIssues } from '@belay/contract/errors';
import type { ExecutionStart, StartedExecution } from '@belay/contract/executions';
import { requireFreshGroups, requireUser } from '../actor.js';
import { can } from '../can.js';
import { notReached } from '../catalog/roles.js';
import type { ActorContext } from '../context.js';
import type { RequestTerms } from './store-request.js';
import { submitRequest } from './submit.js';

/**
 * Starts an execution for a role of the catalog (docs/interface.md, section 3, static request). Throws the errors of
 * `submitRequest`, and for a role that the caller may not request `not_found`, or `forbidden` when it is discoverable.
 */
export async function requestElevation(
  ctx: ActorContext,
  request: RequestTerms & { role: string },
): Promise<Elevation> {
  const user = requireUser(ctx);
  requireFreshGroups(user);
  const catalog = ctx.catalog.current();
  const role = catalog.roles.get(request.role);
  if (!role || !can(user, 'request', { role })) throw notReached(ctx, request.role);
  return submitRequest(ctx, { catalog, user, role, terms: request, request });
}

export interface StartExecution extends ExecutionStart {
  idempotencyKey?: string | undefined;
}

/**
 * Starts a workflow by name (POST /execution). Its input is an elevation request, and is checked as one. Throws the
 * errors of `requestElevation`, with the fields as this request names them.
 */
export async function startExecution(ctx: ActorContext, request: StartExecution): Promise<StartedExecution> {
  const { provider, providers, ...input } = request.input;
  const { output, status } = await requestElevation(ctx, {
    ...input,
    providers: providers ?? (provider === undefined ? undefined : [provider]),
    workflow: request.workflow,
    idempotencyKey: request.idempotencyKey,
  }).catch((error: unknown) => {
    throw renameIssues(error, (path) => ofInput(path, providers === undefined));
  });
  return { workflow_id: output.workflow_id, run_id: output.execution_id, status };
}

/** Returns a path in the caller's request: `input` contains all fields but the workflow, and `provider` may be a single name. */
function ofInput(path: string, isAlone: boolean): string {
  if (path === 'workflow') return path;
  return ['input', isAlone ? path.replace(/^providers(\[0\])?$/, 'provider') : path].filter(Boolean).join('.');
}
