import { z } from 'zod';
import { instant, name } from './fields.js';
import { limits } from './limits.js';
import { mutation, query } from './operation.js';
import { next, paging } from './paging.js';
import { isStorable, unstorableMessage } from './text.js';

export const reviewVerdict = z.enum(['justified', 'not_justified']);
export type ReviewVerdict = z.infer<typeof reviewVerdict>;

export const reviewFilter = z.strictObject({
  status: z
    .enum(['open', 'overdue', 'closed', 'all'])
    .optional()
    .describe('Default: open, or all where one request is named'),
  execution_id: name.optional().describe('Only those of this request, or of what it extends'),
});
export type ReviewFilter = z.infer<typeof reviewFilter>;

export const review = z.object({
  id: z.string(),
  execution_id: z.string().describe('The request; what extends it is under the same review while that is open'),
  status: z.enum(['open', 'closed']),
  overdue: z.boolean(),
  role: z.string(),
  providers: z.array(z.string()),
  reason: z.string(),
  requester: z.object({ email: z.string(), name: z.string() }),
  reviewers: z
    .object({ users: z.array(z.string()), groups: z.array(z.string()) })
    .describe('Who may close it beside administrators, as configured when the role was requested; never the requester'),
  active_from: instant.nullable().describe('When the access began'),
  active_until: instant.nullable().describe('When the access ended or will end; before that no review is closed'),
  extensions: z.number().int().describe('How many requests extended the access'),
  opened_at: instant,
  due_at: instant,
  verdict: reviewVerdict.nullable().describe('Null while it is open, as are the fields below'),
  note: z.string().nullable(),
  closed_by: z.object({ email: z.string(), name: z.string() }).nullable(),
  closed_at: instant.nullable(),
  may_close: z.boolean().describe('Whether the caller can close it now'),
});
/** The review of one use of a role for emergencies. */
export type Review = z.infer<typeof review>;

export const reviewList = z.object({
  reviews: z.array(review).describe('Open ones: the oldest first; otherwise the newest first'),
  next,
});
export type ReviewList = z.infer<typeof reviewList>;

export const reviewClosing = z.strictObject({
  id: name,
  verdict: reviewVerdict,
  note: z
    .string()
    .trim()
    .min(1)
    .max(limits.remark)
    .refine(isStorable, unstorableMessage)
    .describe('What was found; written to the audit log'),
});
export type ReviewClosing = z.input<typeof reviewClosing>;

export const reviewOperations = {
  list: query({ input: reviewFilter.extend(paging), output: reviewList }),
  close: mutation({ input: reviewClosing, output: review }),
};
