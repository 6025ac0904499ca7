import { decideDeviceLogin, findDeviceLogin, pollDeviceLogin, startDeviceLogin } from '@belay/core';
import { z } from 'zod';
import { authenticated, publicProcedure } from '../procedures.js';
import { instant, name, opaque } from '../text.js';
import { router } from '../trpc.js';

const tags = ['authentication'];
const userCode = z.string().max(40).describe('The short code, however it was typed');
const session = z.object({ version: z.number().int(), expiry: instant, session: z.string() });

/** Signing in on a machine without a browser (RFC 8628). */
export const deviceRouter = router({
  start: publicProcedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/device/authorization',
        tags,
        protect: false,
        summary: 'Begin to sign in on a machine without a browser',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { public: true },
    })
    .input(z.strictObject({ label: name.default('a machine without a browser').describe('What asks, for the person') }))
    .output(
      z.object({
        device_code: z.string(),
        user_code: z.string(),
        verification_uri: z.string(),
        verification_uri_complete: z.string(),
        expires_in: z.number().int().describe('Seconds'),
        interval: z.number().int().describe('Seconds'),
      }),
    )
    .mutation(({ ctx, input }) => startDeviceLogin(ctx.core, input)),
  page: authenticated
    .meta({
      openapi: { method: 'GET', path: '/auth/device', tags, summary: 'Read what asks to be signed in as you' },
      rest: { html: 'preferred' },
    })
    .input(z.strictObject({ user_code: userCode.optional() }))
    .output(
      z.object({
        request: z
          .object({ user_code: z.string(), label: z.string(), asked_at: instant, expires_at: instant })
          .nullable(),
      }),
    )
    .query(({ ctx, input }) => findDeviceLogin(ctx.caller, input)),
  decide: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/device',
        tags,
        summary: 'Let a machine that shows a code sign in as you, or refuse it',
        contentTypes: ['application/x-www-form-urlencoded', 'application/json'],
      },
      rest: { html: 'offered' },
    })
    .input(z.strictObject({ user_code: userCode, verdict: z.enum(['approve', 'deny']) }))
    .output(z.object({ message: z.string() }))
    .mutation(({ ctx, input }) => decideDeviceLogin(ctx.caller, input)),
  token: publicProcedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/device/token',
        tags,
        protect: false,
        summary: 'Ask whether somebody has confirmed; hands out the login once',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { public: true },
    })
    .input(z.strictObject({ device_code: opaque }))
    .output(
      z.discriminatedUnion('status', [
        z.object({ status: z.enum(['pending', 'slow_down']), interval: z.number().int().describe('Seconds') }),
        z.object({
          status: z.literal('complete'),
          token: z.string(),
          expires_at: instant,
          user: z.object({ email: z.string(), name: z.string(), groups: z.array(z.string()), provider: z.string() }),
          session: session.nullable(),
        }),
      ]),
    )
    .mutation(({ ctx, input }) => pollDeviceLogin(ctx.core, input)),
});
