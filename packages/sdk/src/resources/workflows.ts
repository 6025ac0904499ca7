import type { Transport } from '../transport/create-transport.js';
import type { CallOptions, Workflow, WorkflowList } from '../types.js';

/** The workflows that decide about requests. */
export interface WorkflowsResource {
  list(options?: CallOptions): Promise<WorkflowList>;
  get(name: string, options?: CallOptions): Promise<Workflow>;
}

export function createWorkflows(transport: Transport): WorkflowsResource {
  return {
    list: (options) => transport.query('workflows.list', undefined, options),
    get: (name, options) => transport.query('workflows.get', { name }, options),
  };
}
