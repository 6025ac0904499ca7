import { decideProgramLogin, findProgramLogin } from '@belay/core';
import { z } from 'zod';
import { authenticated } from '../procedures.js';
import { redirect } from '../reply.js';
import { instant, opaque } from '../text.js';
import { router } from '../trpc.js';

const tags = ['authentication'];

/** The click between a program's sign-in and its code (RFC 8252, section 8.6). */
export const programRouter = router({
  page: authenticated
    .meta({
      openapi: { method: 'GET', path: '/auth/program', tags, summary: 'Read which program wants to sign in as you' },
      rest: { html: 'preferred' },
    })
    .input(z.strictObject({ request: opaque }))
    .output(
      z.object({
        request: z.string(),
        label: z.string().nullable().describe('What the program calls itself; not checked'),
        callback: z.string().describe('Where the code will be sent'),
        place: z.enum(['loopback', 'own', 'listed']),
        asked_at: instant,
        expires_at: instant,
      }),
    )
    .query(({ ctx, input }) => findProgramLogin(ctx.caller, { ...input, browserSecret: ctx.request.browserSecret })),
  decide: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/program',
        tags,
        summary: 'Let a program sign in as you, or refuse it',
        contentTypes: ['application/x-www-form-urlencoded', 'application/json'],
      },
      rest: { html: 'offered', redirect: { status: 303, always: true } },
    })
    .input(z.strictObject({ request: opaque, verdict: z.enum(['approve', 'deny']) }))
    .output(z.object({ location: z.string() }))
    .mutation(async ({ ctx, input }) => {
      const decided = await decideProgramLogin(ctx.caller, { ...input, browserSecret: ctx.request.browserSecret });
      return redirect(ctx, decided, 303, decided.location);
    }),
});
