import { getWorkflow, listWorkflows } from '@belay/core';
import { z } from 'zod';
import { declaredWorkflows, workflowSummary } from '../declared/workflows.js';
import { authenticated } from '../procedures.js';
import { name } from '../text.js';
import { router } from '../trpc.js';

const workflowDocument = z.object({
  dsl: z.string(),
  namespace: z.string(),
  name: z.string(),
  version: z.string(),
  do: z.array(z.unknown()).describe('Tasks, each an object keyed by its name'),
});

export const workflowsRouter = router({
  list: authenticated
    .meta(declaredWorkflows.list.meta)
    .output(declaredWorkflows.list.output)
    .query(({ ctx }) => listWorkflows(ctx.caller)),
  get: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/workflow/{name}',
        tags: ['workflows'],
        summary: 'Read one workflow and its definition',
      },
      rest: { html: 'offered' },
    })
    .input(z.strictObject({ name }))
    .output(workflowSummary.extend({ document: workflowDocument }))
    .query(({ ctx, input }) => getWorkflow(ctx.caller, input)),
});
