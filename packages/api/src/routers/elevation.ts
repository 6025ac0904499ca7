import { elevationOperations } from '@belay/contract/elevation';
import { renameIssues } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import {
  createState,
  createTaskToken,
  listDynamicBounds,
  requestDynamicElevation,
  requestElevation,
  requestManyElevations,
  resolveRole,
  resumeExecution,
  suggestElevation,
} from '@belay/core';
import { authenticated } from '../procedures.js';
import { redirectUnlessJson } from '../reply.js';
import { router } from '../trpc.js';

const tags = ['elevation'];

export const elevationRouter = router({
  /** A request by a link: one provider, all parameters in the query. */
  requestLink: authenticated
    .meta({
      openapi: { method: 'GET', path: '/elevate', tags, summary: 'Request a role (static request)' },
      rest: { confirm: { when: 'always', title: 'Request this role' }, emptyForm: '/elevate/dynamic' },
    })
    .input(elevationOperations.requestLink.input)
    .output(elevationOperations.requestLink.output)
    .mutation(({ ctx, input: { provider, session: token, ...input } }) =>
      requestElevation(ctx.caller, {
        ...input,
        ...(token === undefined ? {} : { session: { session: token } }),
        providers: [provider],
        idempotencyKey: ctx.request.idempotencyKey,
      }).catch((error: unknown) => {
        // This form of the request has exactly one provider.
        throw renameIssues(error, (path) => path.replace(/^providers(\[0\])?$/, 'provider'));
      }),
    ),
  request: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/elevate',
        tags,
        summary: 'Request a role',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'],
      },
      rest: { redirect: { status: 303, always: false } },
    })
    .input(elevationOperations.request.input)
    .output(elevationOperations.request.output)
    .mutation(async ({ ctx, input: { role, permissions, resources, groups, users, ...terms } }) => {
      const { idempotencyKey } = ctx.request;
      return role === undefined
        ? requestDynamicElevation(ctx.caller, { ...terms, permissions, resources, groups, users, idempotencyKey })
        : requestElevation(ctx.caller, { ...terms, role: resolveRole(ctx.caller, role), idempotencyKey });
    }),
  requestMany: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/elevations',
        tags,
        summary: 'Request several roles on the same terms, each as a request of its own',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded'],
      },
      rest: { html: 'offered' },
    })
    .input(elevationOperations.requestMany.input)
    .output(elevationOperations.requestMany.output)
    .mutation(({ ctx, input }) =>
      requestManyElevations(ctx.caller, { ...input, idempotencyKey: ctx.request.idempotencyKey }),
    ),
  dynamic: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/elevate/dynamic',
        tags,
        summary: 'List the providers where you may request permissions and groups directly, and the limits',
      },
      rest: { html: 'offered' },
    })
    .output(elevationOperations.dynamic.output)
    .query(({ ctx }) => listDynamicBounds(ctx.caller)),
  suggestForm: authenticated
    .meta({
      openapi: { method: 'GET', path: '/elevate/llm', tags, summary: 'Show the form for a request in your own words' },
      rest: { html: 'preferred' },
    })
    .output(elevationOperations.suggestForm.output)
    .query(() => ({ method: 'POST', fields: [{ name: 'reason', max_length: limits.reason }] })),
  /** Changes nothing. It is a mutation so that the text is sent in the body and never in an address. */
  suggest: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/elevate/llm',
        tags,
        summary: 'Suggest roles for a request in your own words; nothing is requested or granted',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'],
      },
      rest: { html: 'offered' },
    })
    .input(elevationOperations.suggest.input)
    .output(elevationOperations.suggest.output)
    .mutation(({ ctx, input }) => suggestElevation(ctx.caller, input)),
  prepareResume: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/elevate/resume/token',
        tags,
        summary:
          'Seal a decision, or an event for a waiting task, into a token that only you can use to resume a workflow',
      },
    })
    .input(elevationOperations.prepareResume.input)
    .output(elevationOperations.prepareResume.output)
    .mutation(async ({ ctx, input: { execution_id: executionId, verdict, request_digest, event } }) => ({
      state:
        event === undefined
          ? await createState(ctx.caller, {
              executionId,
              verdict: verdict ?? 'deny',
              requestDigest: request_digest ?? '',
            })
          : await createTaskToken(ctx.caller, { executionId, ...event }),
    })),
  resumeLink: authenticated
    .meta({
      openapi: { method: 'GET', path: '/elevate/resume', tags, summary: 'Resume a waiting workflow' },
      rest: {
        confirm: { when: 'always', title: 'Continue this request' },
        redirect: { status: 307, always: false },
      },
    })
    .input(elevationOperations.resumeLink.input)
    .output(elevationOperations.resumeLink.output)
    .mutation(async ({ ctx, input }) => redirectUnlessJson(ctx, await resumeExecution(ctx.caller, input))),
  resume: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/elevate/resume',
        tags,
        summary: 'Resume a waiting workflow with a sealed state or a task token',
        contentTypes: ['text/plain'],
      },
      rest: { textBody: 'state', query: ['state'], redirect: { status: 307, always: false } },
    })
    .input(elevationOperations.resume.input)
    .output(elevationOperations.resume.output)
    .mutation(async ({ ctx, input }) => redirectUnlessJson(ctx, await resumeExecution(ctx.caller, input))),
});
