import { z } from 'zod';
import { errorCode } from './error-body.js';
import { approvalStatus, instant, leavesBehind, name, names, remark, stages, verdict } from './fields.js';
import { limits } from './limits.js';
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
  ...stages,
  because: z.string().nullable().describe('Why this second approval is required; null for a first approval'),
  decide_on_page: z
    .boolean()
    .describe('Whether requests for the role are decided one by one, and only in Belay itself'),
  comments: z.number().int().describe('How many comments there are on the request'),
  open_question: z.boolean().describe('Whether the last question about the request has no answer yet'),
  extends: z.string().nullable().describe('The execution whose access this one would extend; null for any other'),
  break_glass: z
    .boolean()
    .describe('Whether the role is for emergencies: each use notifies the people whom its configuration names'),
});
/** A request that waits for the caller's decision. */
export type InboxEntry = z.infer<typeof inboxEntry>;

export const inbox = z.object({
  approvals: z
    .array(inboxEntry)
    .describe('In the order of `sort`; by default the oldest request of each requester first, then the second of each'),
  next,
  total: z.number().int().describe('Number of requests that wait, on all pages'),
  requesters: z
    .array(z.object({ email: z.string(), name: z.string(), waiting: z.number().int() }))
    .describe('Requesters, and how many requests of each wait'),
});
export type Inbox = z.infer<typeof inbox>;

export const inboxSort = z.enum(['turns', 'oldest', 'ending']);
/** `turns`: requesters take turns; `oldest`: the longest wait first; `ending`: the earliest deadline first. */
export type InboxSort = z.infer<typeof inboxSort>;

const inboxFilter = {
  requester: name.optional().describe('Only requests of this person: their e-mail address'),
  id: name.optional().describe('Only this approval, or the approval of this execution'),
  sort: inboxSort.optional().describe('Default: `turns`'),
};
/** Selects and sorts a part of the inbox. */
export type InboxFilter = z.input<z.ZodObject<typeof inboxFilter>>;

export const decision = z.strictObject({
  id: name.describe('Identifier of the approval or of its execution'),
  verdict,
  comment: remark.optional(),
  request_digest: name
    .optional()
    .describe('The digest that the approver was shown; a request that has changed since is a conflict'),
  next: name.optional().describe('For the form of the inbox: the approval to show afterwards, or `inbox`'),
});
export type Decision = z.input<typeof decision>;

export const decided = z.object({ id: z.string(), status: approvalStatus, execution_id: z.string(), ...stages });
export type Decided = z.infer<typeof decided>;

export const bulkDecision = z.strictObject({
  verdict,
  comment: remark.optional().describe('Recorded with each decision'),
  ids: names
    .max(limits.bulk)
    .min(1, 'must name at least one')
    .describe('Approvals with the same role, the same systems and access, and the same duration'),
  request_digests: names
    .max(limits.bulk)
    .min(1, 'must name at least one')
    .describe('The digests of what the approver was shown; an approval whose digest is not among them is a conflict'),
});
export type BulkDecision = z.input<typeof bulkDecision>;

export const bulkDecided = z.object({
  results: z
    .array(
      z.object({
        id: z.string(),
        status: approvalStatus.nullable().describe('As of a single decision; null when the decision was rejected'),
        execution_id: z.string().nullable(),
        error: z.object({ code: errorCode, message: z.string() }).nullable(),
      }),
    )
    .describe('In the order of `ids`; each is a decision of its own'),
  decided: z.number().int().describe('How many decisions were recorded'),
  rejected: z.number().int().describe('How many were not'),
});
export type BulkDecided = z.infer<typeof bulkDecided>;

export const approvers = z.object({
  people: z
    .array(
      z.object({
        email: z.string(),
        name: z.string(),
        groups: z.array(z.string()).describe('The groups of the rule that they are in; empty when the rule names them'),
        verdict: verdict.nullable().describe('Their decision; null while they have not decided'),
      }),
    )
    .describe('The people known to Belay who can decide, or have decided'),
  more: z.boolean().describe('Whether there are more people than are listed'),
  unknown: z
    .object({ users: z.array(z.string()), groups: z.array(z.string()) })
    .describe('Addresses and groups of the rule of which no person has signed in yet'),
});
/** Who can decide on an approval. */
export type Approvers = z.infer<typeof approvers>;

export const approvalOperations = {
  inbox: query({ input: z.strictObject({ ...paging, ...inboxFilter }), output: inbox }),
  decide: mutation({ input: decision, output: decided }),
  decideMany: mutation({ input: bulkDecision, output: bulkDecided }),
  approvers: query({
    input: z.strictObject({ id: name.describe('Identifier of the approval, or of its execution') }),
    output: approvers,
  }),
};
