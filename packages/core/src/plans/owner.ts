import { AccessError } from '@belay/contract/errors';
import { executions, grants, type SqlText, sqlText, userIdentities } from '@belay/db';
import { z } from 'zod';
import type { Store } from '../context.js';
import { passingGroups, unmetCondition } from '../people/admission.js';
import type { ElevationInput } from './input.js';

const ownerSchema = z.object({
  email: z.string().nullish(),
  groups: z.array(z.string()).nullish(),
  organizations: z.array(z.string()).nullish(),
  /** Whether the access that the request extends was ended before its time. */
  ended: z.boolean().optional(),
});

/** The reasons of an end after which an extension is not granted any more. Expiry and failed grants are not among them. */
export const endedByPeople = sqlText`'returned', 'revoked', 'cancelled', 'terminated', 'deprovisioned'`;

/** Returns the error for an extension of access that was ended early. */
export function accessEnded(): AccessError {
  return new AccessError('conflict', 'The access that this request extends was ended before its time');
}

/**
 * Returns an expression for the requester's current data under the identity of the request, and whether the access that is to be
 * extended was ended.
 */
export function besideExecution({ id, ownerId, input }: { id: SqlText; ownerId: SqlText; input: SqlText }): SqlText {
  return sqlText`(
    select json_build_object('email', identity.email, 'groups', identity.groups, 'organizations', identity.organizations,
      'ended', exists (select from ${executions} extending join ${grants} g on g.execution_id = extending.extends_id
        where extending.id = ${id} and g.ended_reason in (${endedByPeople})))::text
    from (select 1) as one left join ${userIdentities} as identity on identity.user_id = ${ownerId}
      and identity.provider = ${input} #>> '{user,provider}' and identity.subject = ${input} #>> '{user,subject}')`;
}

/** Reads the result of `besideExecution`. */
function readOwner(beside: unknown): z.infer<typeof ownerSchema> {
  return ownerSchema.parse(beside);
}

/**
 * Returns the input of a request with the requester's current data, under the identity of the request: a person who has
 * left a group can no longer use it, and an identity without a user, or one that may not sign in, has no address and no groups.
 */
export function inputNow(ctx: Store, input: ElevationInput, beside: unknown): ElevationInput {
  const { email, groups, organizations, ended } = readOwner(beside);
  const now = {
    provider: input.user.provider,
    email: email ?? '',
    groups: groups ?? [],
    organizations: organizations ?? [],
  };
  const catalog = ctx.catalog.current();
  const admitted = unmetCondition(catalog, now) === undefined;
  const user = { ...input.user, email: admitted ? now.email : '', groups: admitted ? passingGroups(catalog, now) : [] };
  return { ...input, user, ...(ended ? { extended_access_ended: true } : {}) };
}
