import type { Meta } from '@belay/rest';
import { z } from 'zod';

export const workflowSummary = z.object({ name: z.string(), description: z.string(), enabled: z.boolean() });

/** What modes that have it say alike of GET /workflows. */
export const declaredWorkflows = {
  list: {
    meta: {
      openapi: { method: 'GET', path: '/workflows', tags: ['workflows'], summary: 'List the workflows you may start' },
      rest: { html: 'offered' },
    },
    output: z.object({ version: z.string(), workflows: z.record(z.string(), workflowSummary) }),
  },
} satisfies Record<string, { meta: Meta; output: z.ZodType }>;
