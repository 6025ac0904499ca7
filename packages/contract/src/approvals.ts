import { z } from 'zod';
import { instant, leavesBehind, name, remark, verdict } from './fields.js';
import { mutation, query } from './operation.js';
import { next, paging } from './paging.js';

export const inboxEntry = z.object({
  id: z.string(),
  execution_id: z.string(),
  requester: z.object({ email: z.string(), name: z.string() }),
  role: z.string(),
  reason: z.string(),
  duration: z.string(),
  providers: z.array(z.string()),
  grants: z
    .array(
      z.object({
        provider: z.string(),
        identity: z.string(),
        access: z.unknown().describe("The access, in the provider's own terms"),
        residual: z.string().describe('ISO 8601 duration: how long access can outlive its revocation at most'),
        leaves_behind: leavesBehind,
        native_expiry: z
          .object({
            step: z.string().nullable().describe('ISO 8601 duration: how much later the provider ends it at most'),
          })
          .nullable()
          .describe('Set when the provider itself ends the access, also while Belay is stopped; otherwise null'),
        target: z
          .string()
          .nullable()
          .describe('The target system that the access is bound to; it is granted at no other'),
      }),
    )
    .describe('Exactly what will be granted'),
  request_digest: z.string().describe('Digest of the fields above; send it with the decision'),
  expires_at: instant,
  created_at: instant,
  count: z.number().int().describe('How many approvers have to approve'),
  decisions: z.number().int().describe('How many have decided'),
  because: z.string().nullable().describe('Why this second approval is required; null for a first approval'),
});
/** A request that waits for the decision of its reader. */
export type InboxEntry = z.infer<typeof inboxEntry>;

export const inbox = z.object({
  approvals: z
    .array(inboxEntry)
    .describe('Ordered by turns: the oldest request of each requester first, then the second of each, and so on'),
  next,
  total: z.number().int().describe('Number of requests that wait, on all pages'),
  requesters: z
    .array(z.object({ email: z.string(), name: z.string(), waiting: z.number().int() }))
    .describe('Requesters, and how many requests of each wait'),
});
export type Inbox = z.infer<typeof inbox>;

const inboxFilter = {
  requester: name.optional().describe('Only requests of this person: their e-mail address'),
  id: name.optional().describe('Only this approval, or the approval of this execution'),
};
/** Selects a part of the inbox. */
export type InboxFilter = z.input<z.ZodObject<typeof inboxFilter>>;

export const decision = z.strictObject({
  id: name.describe('Identifier of the approval or of its execution'),
  verdict,
  comment: remark.optional(),
  request_digest: name
    .optional()
    .describe('The digest that the approver was shown; a request that has changed since is a conflict'),
});
export type Decision = z.input<typeof decision>;

export const decided = z.object({ id: z.string(), status: z.string(), execution_id: z.string() });
export type Decided = z.infer<typeof decided>;

export const approvalOperations = {
  inbox: query({ input: z.strictObject({ ...paging, ...inboxFilter }), output: inbox }),
  decide: mutation({ input: decision, output: decided }),
};
