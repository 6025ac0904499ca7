import { approvals, type SqlText, sqlText, userIdentities } from '@belay/db';
import { z } from 'zod';
import type { Store } from '../context.js';
import { passingGroups, unmetCondition } from '../people/admission.js';
import type { ElevationInput } from './input.js';

const ownerSchema = z.object({
  email: z.string().nullish(),
  groups: z.array(z.string()).nullish(),
  organizations: z.array(z.string()).nullish(),
  /** Whether approvers were involved. */
  asked: z.boolean(),
});

/**
 * Returns an expression for the requester under the identity of the request, by the current data of its provider, and
 * whether approvers were involved.
 */
export function besideExecution({ id, ownerId, input }: { id: SqlText; ownerId: SqlText; input: SqlText }): SqlText {
  return sqlText`(
    select json_build_object('email', identity.email, 'groups', identity.groups, 'organizations', identity.organizations,
      'asked', exists (select from ${approvals} where execution_id = ${id}))::text
    from (select 1) as one left join ${userIdentities} as identity on identity.user_id = ${ownerId}
      and identity.provider = ${input} #>> '{user,provider}' and identity.subject = ${input} #>> '{user,subject}')`;
}

/** Reads the result of `besideExecution`. */
export function readOwner(beside: unknown): z.infer<typeof ownerSchema> {
  return ownerSchema.parse(beside);
}

/**
 * Returns the input of a request with its requester as they are now, by the identity of the request: a person who has
 * left a group has lost its rights, and an identity without a user, or one that may no longer sign in, has none.
 */
export function inputNow(ctx: Store, input: ElevationInput, beside: unknown): ElevationInput {
  const { email, groups, organizations } = readOwner(beside);
  const now = {
    provider: input.user.provider,
    email: email ?? '',
    groups: groups ?? [],
    organizations: organizations ?? [],
  };
  const catalog = ctx.catalog.current();
  const admitted = unmetCondition(catalog, now) === undefined;
  const user = { ...input.user, email: admitted ? now.email : '', groups: admitted ? passingGroups(catalog, now) : [] };
  return { ...input, user };
}
