import { z } from 'zod';
import { name } from './fields.js';
import { query } from './operation.js';

export const workflowSummary = z.object({ name: z.string(), description: z.string(), enabled: z.boolean() });
export type WorkflowSummary = z.infer<typeof workflowSummary>;

export const workflow = workflowSummary.extend({
  document: z.object({
    dsl: z.string(),
    namespace: z.string(),
    name: z.string(),
    version: z.string(),
    do: z.array(z.unknown()).describe('Tasks, each an object keyed by its name'),
  }),
});
/** A workflow and its definition in the Serverless Workflow DSL. */
export type Workflow = z.infer<typeof workflow>;

export const workflowList = z.object({ version: z.string(), workflows: z.record(z.string(), workflowSummary) });
export type WorkflowList = z.infer<typeof workflowList>;

export const workflowOperations = {
  list: query({ output: workflowList }),
  get: query({ input: z.strictObject({ name }), output: workflow }),
};
