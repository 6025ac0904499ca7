import { getRole, listRoles } from '@belay/core';
import { z } from 'zod';
import { declaredRoles, roleOutput } from '../declared/roles.js';
import { linkNext, next, paging } from '../paging.js';
import { authenticated } from '../procedures.js';
import { name } from '../text.js';
import { router } from '../trpc.js';

export const rolesRouter = router({
  list: authenticated
    .meta(declaredRoles.list.meta)
    .input(declaredRoles.list.input.extend(paging))
    .output(declaredRoles.list.output.extend({ next }))
    .query(({ ctx, input }) => linkNext(ctx, listRoles(ctx.caller, input))),
  get: authenticated
    .meta({
      openapi: { method: 'GET', path: '/role/{role}', tags: ['roles'], summary: 'Read one role' },
      rest: { html: 'offered' },
    })
    .input(z.strictObject({ role: name }))
    .output(roleOutput)
    .query(({ ctx, input }) => getRole(ctx.caller, input)),
});
