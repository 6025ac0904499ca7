import type { Meta } from '@belay/rest';
import { z } from 'zod';

const capability = z.enum(['authenticator', 'authorizer', 'identities', 'notifications']);

/** What modes that have it say alike of GET /providers. */
export const declaredProviders = {
  list: {
    meta: {
      openapi: { method: 'GET', path: '/providers', tags: ['providers'], summary: 'List the providers you may use' },
      rest: { html: 'offered' },
    },
    input: z.strictObject({
      capability: z
        .array(capability)
        .min(1, 'must name at least one')
        .max(4)
        .optional()
        .describe('Only providers with any of these capabilities'),
    }),
    output: z.object({
      version: z.string(),
      providers: z.array(
        z.object({
          _id: z.string(),
          _source: z.object({
            id: z.string(),
            name: z.string(),
            description: z.string(),
            provider: z.string(),
            enabled: z.boolean(),
            capabilities: z.array(z.string()),
          }),
        }),
      ),
    }),
  },
} satisfies Record<string, { meta: Meta; input: z.ZodType; output: z.ZodType }>;
