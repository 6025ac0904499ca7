import { adminOperations } from '@belay/contract/admin';
import { listAllAccess, listOverdue, retryRevocation, revokeAccess } from '@belay/core';
import { linkNext } from '../paging.js';
import { authenticated } from '../procedures.js';
import { router } from '../trpc.js';

const tags = ['administration'];
const contentTypes: ('application/json' | 'application/x-www-form-urlencoded')[] = [
  'application/json',
  'application/x-www-form-urlencoded',
];
const redirect = { redirect: { status: 303, always: false } } as const;

export const adminRouter = router({
  access: authenticated
    .meta({
      openapi: { method: 'GET', path: '/admin/access', tags, summary: 'List the access that people hold now' },
    })
    .input(adminOperations.access.input)
    .output(adminOperations.access.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listAllAccess(ctx.caller, input))),
  revoke: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/admin/access/revoke',
        tags,
        summary: 'Revoke access of a person, at a provider, of a role or of one request, as an administrator',
        contentTypes,
      },
      rest: redirect,
    })
    .input(adminOperations.revoke.input)
    .output(adminOperations.revoke.output)
    .mutation(({ ctx, input }) => revokeAccess(ctx.caller, input)),
  overdue: authenticated
    .meta({
      openapi: { method: 'GET', path: '/admin/overdue', tags, summary: 'List the revocations that are overdue' },
    })
    .input(adminOperations.overdue.input)
    .output(adminOperations.overdue.output)
    .query(async ({ ctx, input }) => linkNext(ctx, await listOverdue(ctx.caller, input))),
  retry: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/admin/overdue/{id}/retry',
        tags,
        summary: 'Make an overdue revocation due now, as an administrator',
        contentTypes,
      },
      rest: redirect,
    })
    .input(adminOperations.retry.input)
    .output(adminOperations.retry.output)
    .mutation(({ ctx, input }) => retryRevocation(ctx.caller, input)),
});
