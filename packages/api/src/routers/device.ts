import { deviceOperations } from '@belay/contract/auth';
import { decideDeviceLogin, findDeviceLogin, pollDeviceLogin, startDeviceLogin } from '@belay/core';
import { authenticated, publicProcedure } from '../procedures.js';
import { router } from '../trpc.js';

const tags = ['authentication'];

/** Operations to sign in on a machine without a browser (RFC 8628). */
export const deviceRouter = router({
  start: publicProcedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/device/authorization',
        tags,
        protect: false,
        summary: 'Start a sign-in on a machine without a browser',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { public: true },
    })
    .input(deviceOperations.start.input)
    .output(deviceOperations.start.output)
    .mutation(({ ctx, input }) => startDeviceLogin(ctx.core, input)),
  page: authenticated
    .meta({
      openapi: { method: 'GET', path: '/auth/device', tags, summary: 'Read which machine requests to sign in as you' },
      rest: { html: 'preferred' },
    })
    .input(deviceOperations.page.input)
    .output(deviceOperations.page.output)
    .query(({ ctx, input }) => findDeviceLogin(ctx.caller, input)),
  decide: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/device',
        tags,
        summary: 'Approve or deny the sign-in of a machine by the code that it shows',
        contentTypes: ['application/x-www-form-urlencoded', 'application/json'],
      },
      rest: { html: 'offered' },
    })
    .input(deviceOperations.decide.input)
    .output(deviceOperations.decide.output)
    .mutation(({ ctx, input }) => decideDeviceLogin(ctx.caller, input)),
  token: publicProcedure
    .meta({
      openapi: {
        method: 'POST',
        path: '/auth/device/token',
        tags,
        protect: false,
        summary: 'Read whether the sign-in was approved; returns the login once',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { public: true },
    })
    .input(deviceOperations.token.input)
    .output(deviceOperations.token.output)
    .mutation(({ ctx, input }) => pollDeviceLogin(ctx.core, input)),
});
