import { metadata } from '@belay/contract/metadata';
import { workflowOperations } from '@belay/contract/workflows';
import { getWorkflow, listWorkflows } from '@belay/core';
import { authenticated } from '../procedures.js';
import { router } from '../trpc.js';

export const workflowsRouter = router({
  list: authenticated
    .meta(metadata.workflows.list)
    .output(workflowOperations.list.output)
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
    .input(workflowOperations.get.input)
    .output(workflowOperations.get.output)
    .query(({ ctx, input }) => getWorkflow(ctx.caller, input)),
});
