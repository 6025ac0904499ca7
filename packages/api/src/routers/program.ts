import { programOperations } from '@belay/contract/auth';
import { decideProgramLogin, findProgramLogin } from '@belay/core';
import { authenticated } from '../procedures.js';
import { redirect } from '../reply.js';
import { router } from '../trpc.js';

const tags = ['authentication'];

/** Operations for the confirmation that a program's sign-in requires before it gets its code (RFC 8252, section 8.6). */
export const programRouter = router({
  page: authenticated
    .meta({
      openapi: { method: 'GET', path: '/auth/program', tags, summary: 'Read which program requests to sign in as you' },
      rest: { html: 'preferred' },
    })
    .input(programOperations.page.input)
    .output(programOperations.page.output)
    .query(({ ctx, input }) => findProgramLogin(ctx.caller, { ...input, browserSecret: ctx.request.browserSecret })),
  decide: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/program',
        tags,
        summary: 'Approve or deny the sign-in of a program as you',
        contentTypes: ['application/x-www-form-urlencoded', 'application/json'],
      },
      rest: { html: 'offered', redirect: { status: 303, always: true } },
    })
    .input(programOperations.decide.input)
    .output(programOperations.decide.output)
    .mutation(async ({ ctx, input }) => {
      const decided = await decideProgramLogin(ctx.caller, { ...input, browserSecret: ctx.request.browserSecret });
      return redirect(ctx, decided, 303, decided.location);
    }),
});
