import { preferenceOperations } from '@belay/contract/preferences';
import { choosePreferences, readPreferences, writePreferences } from '@belay/core';
import { authenticated } from '../procedures.js';
import { router } from '../trpc.js';

export const preferencesRouter = router({
  get: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/preferences',
        tags: ['notifications'],
        summary: 'Read your notification settings: kinds, channels and quiet hours',
      },
      rest: { html: 'offered' },
    })
    .output(preferenceOperations.get.output)
    .query(({ ctx }) => readPreferences(ctx.caller)),
  set: authenticated
    .meta({
      openapi: {
        method: 'PUT',
        path: '/preferences',
        tags: ['notifications'],
        summary: 'Replace your notification settings',
      },
    })
    .input(preferenceOperations.set.input)
    .output(preferenceOperations.set.output)
    .mutation(({ ctx, input }) => writePreferences(ctx.caller, input)),
  choose: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/preferences',
        tags: ['notifications'],
        summary: 'Replace your notification settings with the fields of a form',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { redirect: { status: 303, always: false } },
    })
    .input(preferenceOperations.choose.input)
    .output(preferenceOperations.choose.output)
    .mutation(({ ctx, input }) => choosePreferences(ctx.caller, input)),
});
