import type { ClaimedCall } from '@belay/engine';
import { z } from 'zod';

/** Addresses are folded. */
const audience = { users: z.array(z.string()), groups: z.array(z.string()) };

/**
 * The elevation request as an execution stores it: names and words, never secrets or values that a client may widen.
 */
export const elevationInputSchema = z.object({
  role: z.string(),
  providers: z.array(z.string()).min(1),
  /** The first provider, for workflows that were written for one. */
  provider: z.string(),
  reason: z.string(),
  /** ISO 8601. */
  duration: z.string(),
  /** The named identities, as requested; empty: the requester's own. */
  identities: z.array(z.string()),
  user: z.object({
    id: z.string(),
    email: z.string(),
    name: z.string(),
    groups: z.array(z.string()),
    provider: z.string(),
    subject: z.string(),
  }),
  requested_at: z.string(),
  /** Only in a dynamic request: what was requested instead of a role. */
  dynamic: z
    .object({
      permissions: z.array(z.string()),
      resources: z.array(z.string()),
      /** Each as `<provider>:<the provider's own role>`. */
      groups: z.array(z.string()),
    })
    .optional(),
  /** Only for a role for emergencies: who is told of its use, and who reviews it (`CompiledRole`). */
  break_glass: z.object({ ...audience, review: z.object({ ...audience, within: z.number() }).optional() }).optional(),
  /**
   * Only in a request that names identities: the names of the accounts at their systems when the request was made, in
   * lower case, and the names by which these accounts belong to people (`namesOfAccount`). By these names the request
   * is found when one of these people is stopped.
   */
  elevated: z.array(z.string()).optional(),
  /** Never stored: whether the access that the request extends was ended before its time. */
  extended_access_ended: z.boolean().optional(),
});

export type ElevationInput = z.infer<typeof elevationInputSchema>;
/** A call of a workflow that an elevation request runs. */
export type ElevationCall = ClaimedCall<ElevationInput>;
