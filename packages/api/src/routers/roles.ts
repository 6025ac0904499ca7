import { getRole, listRoles } from '@belay/core';
import { z } from 'zod';
import { authenticated } from '../procedures.js';
import { name, names } from '../text.js';
import { router } from '../trpc.js';

/** Role of the interface, and what we publish beside it: its bounds and what it grants. */
const roleOutput = z.object({
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

export const rolesRouter = router({
  list: authenticated
    .meta({
      openapi: { method: 'GET', path: '/roles', tags: ['roles'], summary: 'List the roles you may ask for' },
      rest: { html: 'offered' },
    })
    .input(z.strictObject({ provider: names.optional() }))
    .output(z.object({ version: z.string(), roles: z.record(z.string(), z.object({ role: roleOutput })) }))
    .query(({ ctx, input }) => listRoles(ctx.caller, input)),
  get: authenticated
    .meta({
      openapi: { method: 'GET', path: '/role/{role}', tags: ['roles'], summary: 'Read one role' },
      rest: { html: 'offered' },
    })
    .input(z.strictObject({ role: name }))
    .output(roleOutput)
    .query(({ ctx, input }) => getRole(ctx.caller, input)),
});
