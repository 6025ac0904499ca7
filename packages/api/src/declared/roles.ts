import type { Meta } from '@belay/rest';
import { z } from 'zod';
import { someNames } from '../text.js';

/** Role of the interface, and what we publish beside it: its bounds and what it grants. */
export const roleOutput = z.object({
  name: z.string(),
  description: z.string(),
  providers: z.array(z.string()),
  workflows: z.array(z.string()),
  enabled: z.boolean(),
  permissions: z.object({ users: z.array(z.string()).optional(), groups: z.array(z.string()).optional() }).optional(),
  max_duration: z.string(),
  default_duration: z.string(),
  reason: z.object({ required: z.boolean(), pattern: z.string().optional() }),
  inherits: z.array(z.string()),
  grants: z.array(z.object({ provider: z.string(), access: z.unknown() })),
});

/** What modes that have it say alike of GET /roles. */
export const declaredRoles = {
  list: {
    meta: {
      openapi: { method: 'GET', path: '/roles', tags: ['roles'], summary: 'List the roles you may ask for' },
      rest: { html: 'offered' },
    },
    input: z.strictObject({ provider: someNames.optional() }),
    output: z.object({ version: z.string(), roles: z.record(z.string(), z.object({ role: roleOutput })) }),
  },
} satisfies Record<string, { meta: Meta; input: z.ZodType; output: z.ZodType }>;
