import { z } from 'zod';
import { done, instant, name } from './fields.js';
import { limits } from './limits.js';
import { mutation, query } from './operation.js';
import { next, paging } from './paging.js';

const person = z.object({ id: z.string(), email: z.string(), name: z.string() });
/** Why a person acts on another one; written to the audit log. */
const why = z.string().trim().min(1).max(limits.operatorReason);
const email = name.describe('E-mail address');

/** Which access: each field that is present narrows it. */
export const accessFilter = z.strictObject({
  user: email.optional().describe('E-mail address of the person who requested it'),
  provider: name.optional(),
  role: name.optional(),
});
export type AccessFilter = z.infer<typeof accessFilter>;

export const heldAccess = z.object({
  id: z.string(),
  execution_id: z.string(),
  user: person.describe('Who requested it'),
  role: z.string(),
  provider: z.string(),
  identity: z.string().describe('Who has it, by their name at the provider'),
  access: z.unknown().describe("The access, in the provider's own terms"),
  state: z.enum(['granting', 'active']),
  granted_at: instant.nullable(),
  expires_at: instant.nullable().describe('Null until the access is active'),
});
/** Access that a person holds now, as administrators and auditors see it. */
export type HeldAccess = z.infer<typeof heldAccess>;

export const heldAccessList = z.object({ access: z.array(heldAccess), next });
export type HeldAccessList = z.infer<typeof heldAccessList>;

export const revokeRequest = accessFilter
  .extend({
    execution_id: name.optional().describe('The access of one request'),
    reason: why,
    end_requests: z
      .boolean()
      .optional()
      .describe('Also terminate matching requests that have not ended, so that they grant nothing more'),
  })
  .refine(({ user, provider, role, execution_id: id }) => [user, provider, role, id].some(Boolean), {
    path: ['user'],
    message: 'must name a person, a provider, a role or an execution',
  });
export type RevokeRequest = z.input<typeof revokeRequest>;

export const revoked = z.object({
  ...done.shape,
  revoked: z.array(z.string()).describe('Executions whose access was ended now'),
  ended: z.array(z.string()).describe('Executions that were terminated'),
  open: z
    .array(z.string())
    .describe('Matching executions that have not ended: what they are granted from now on is not revoked by this'),
  more: z.boolean().describe('Whether access is left, because one call ends at most 200 executions: call again'),
});
/** What one call revoked. */
export type Revoked = z.infer<typeof revoked>;

export const overdueRevocation = z.object({
  id: z.string(),
  provider: z.string(),
  identity: z.string(),
  access: z.unknown(),
  users: z.array(person),
  executions: z.array(z.string()),
  since: instant.describe('When the access should have ended'),
  attempts: z.number().int().describe('Failed attempts in a row'),
  last_error: z.string().nullable(),
  pending: z.string().nullable(),
  elsewhere: z
    .boolean()
    .describe('Whether the address of the provider leads to another target than the one that holds it'),
  next_try: instant.describe('In the past while an attempt runs or is due'),
});
export type OverdueRevocation = z.infer<typeof overdueRevocation>;

export const overdueList = z.object({ revocations: z.array(overdueRevocation), next });
export type OverdueList = z.infer<typeof overdueList>;

const one = z.strictObject({ id: name, reason: why });

/** What administrators and auditors do (`access` of the configuration). */
export const adminOperations = {
  access: query({ input: accessFilter.extend(paging), output: heldAccessList }),
  revoke: mutation({ input: revokeRequest, output: revoked }),
  overdue: query({ input: z.strictObject(paging), output: overdueList }),
  retry: mutation({ input: one, output: done }),
};
