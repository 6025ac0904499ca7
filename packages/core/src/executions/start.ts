import type { ActorContext } from '../context.js';
import { requestElevation } from '../elevation/request.js';
import { AccessError } from '../errors.js';

export interface StartExecution {
  workflow: string;
  input: {
    role: string;
    provider?: string | undefined;
    providers?: string[] | undefined;
    reason?: string | undefined;
    duration?: string | undefined;
    identities?: string[] | undefined;
  };
  idempotencyKey?: string | undefined;
}

/** Starts a workflow by name (interface, POST /execution). Its input is an elevation request, and is checked as one. */
export async function startExecution(
  ctx: ActorContext,
  request: StartExecution,
): Promise<{ workflow_id: string; run_id: string; status: string }> {
  const { provider, providers, ...input } = request.input;
  const { output, status } = await requestElevation(ctx, {
    ...input,
    providers: providers ?? (provider === undefined ? undefined : [provider]),
    workflow: request.workflow,
    idempotencyKey: request.idempotencyKey,
  }).catch((error: unknown) => {
    throw error instanceof AccessError ? inside(error) : error;
  });
  return { workflow_id: output.workflow_id, run_id: output.execution_id, status };
}

/** The same refusal with its fields where this caller has them: all but the workflow are in `input`. */
function inside({ code, message, options }: AccessError): AccessError {
  if (options.issues === undefined) return new AccessError(code, message, options);
  const issues = options.issues.map(({ path, message }) => ({
    path: path === 'workflow' ? path : ['input', path].filter(Boolean).join('.'),
    message,
  }));
  return new AccessError(code, message, { ...options, issues });
}
