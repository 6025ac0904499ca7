import {
  createState,
  createTaskToken,
  listDynamicBounds,
  renameIssues,
  requestDynamicElevation,
  requestElevation,
  resolveRole,
  resumeExecution,
  suggestElevation,
} from '@belay/core';
import { z } from 'zod';
import { authenticated } from '../procedures.js';
import { redirectUnlessJson } from '../reply.js';
import { roleBody } from '../role-body.js';
import { duration, json, name, names, opaque, prose, someNames } from '../text.js';
import { router } from '../trpc.js';

const elevationResult = z.object({
  status: z.string(),
  output: z.object({ workflow_id: z.string(), execution_id: z.string() }),
});
const resumeResult = z.object({
  workflow_id: z.string(),
  status: z.string(),
  output: z.object({ approved: z.boolean(), session_created: z.boolean() }),
});
const session = z.strictObject({ version: z.number().int(), expiry: name, session: opaque });
const suggested = z.object({
  suggested_role: z.string().describe('Empty when nothing fits'),
  suggested_duration: z.string().describe('ISO 8601 duration'),
  suggested_providers: z.array(z.string()),
  workflow_id: z.string().describe('Name of the workflow that a request would start; nothing has been started'),
});
const suggestion = z.object({
  status: z.enum(['suggested', 'no_match']),
  output: suggested.extend({
    matched: z.array(z.string()).describe('Words of the text that led here'),
    engine: z.enum(['lexical', 'model']),
    alternatives: z.array(suggested),
  }),
});
const nameRules = z.object({ allow: z.array(z.string()), deny: z.array(z.string()) });
/** What a request asks for itself when it names no role. */
const dynamicFields = ['permissions', 'resources', 'groups', 'users'] as const;
const elevationRequest = z
  .strictObject({
    role: z
      .union([name, roleBody])
      .optional()
      .describe('A role by its name, or a Role object, of which the name counts; absent in a dynamic request'),
    providers: someNames.optional().describe('All of the role’s when left out'),
    authenticator: name.optional(),
    workflow: name.optional(),
    reason: prose.optional().describe('Required unless the role says that it is not'),
    duration: duration.optional(),
    identities: names.optional(),
    session: session.optional(),
    permissions: names.optional().describe('Dynamic request: the provider’s own permissions, each by its name'),
    resources: names.optional().describe('Dynamic request: what they are for'),
    groups: names.optional().describe('Dynamic request: the provider’s own roles, as <provider>:<role>'),
    users: names.optional().describe('Dynamic request: whom to elevate, beside `identities`'),
  })
  .superRefine((input, refused) => {
    const given = dynamicFields.filter((field) => input[field] !== undefined);
    if (input.role === undefined && given.length === 0) {
      refused.addIssue({
        code: 'custom',
        path: ['role'],
        message: 'is required, unless permissions or groups are asked for',
      });
    }
    if (input.role === undefined) return;
    for (const field of given) {
      refused.addIssue({ code: 'custom', path: [field], message: 'belongs to a request that names no role' });
    }
  });
const resumeToken = z
  .strictObject({
    execution_id: name,
    verdict: z.enum(['approve', 'deny']).optional().describe('For a decision, with `request_digest`'),
    request_digest: name.optional().describe('Of what you were shown'),
    event: z.strictObject({ type: name, data: json.optional() }).optional().describe('For a task that listens for it'),
  })
  .superRefine(({ verdict, request_digest, event }, refused) => {
    const missing = (['verdict', 'request_digest'] as const).filter((field) =>
      field === 'verdict' ? verdict === undefined : request_digest === undefined,
    );
    if (event === undefined) {
      for (const field of missing) refused.addIssue({ code: 'custom', path: [field], message: 'is required' });
    } else if (missing.length < 2) {
      refused.addIssue({ code: 'custom', path: ['event'], message: 'is not part of a decision' });
    }
  });
/** As many characters as `prose` may have. */
const longestProse = 4000;
const tags = ['elevation'];

export const elevationRouter = router({
  /** The documented GET: one provider, everything in the query. */
  requestLink: authenticated
    .meta({
      openapi: { method: 'GET', path: '/elevate', tags, summary: 'Ask for a role (static request)' },
      rest: { confirm: { when: 'always', title: 'Ask for this role' }, emptyForm: '/elevate/dynamic' },
    })
    .input(
      z.strictObject({
        role: name,
        provider: name,
        workflow: name.optional(),
        reason: prose,
        duration: duration.optional(),
        identities: names.optional(),
        session: opaque.optional(),
      }),
    )
    .output(elevationResult)
    .mutation(({ ctx, input: { provider, session: token, ...input } }) =>
      requestElevation(ctx.caller, {
        ...input,
        ...(token === undefined ? {} : { session: { session: token } }),
        providers: [provider],
        idempotencyKey: ctx.request.idempotencyKey,
      }).catch((error: unknown) => {
        // One provider is what this request has.
        throw renameIssues(error, (path) => path.replace(/^providers(\[0\])?$/, 'provider'));
      }),
    ),
  request: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/elevate',
        tags,
        summary: 'Ask for a role',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'],
      },
      rest: { redirect: { status: 303, always: false } },
    })
    .input(elevationRequest)
    .output(elevationResult)
    .mutation(async ({ ctx, input: { role, permissions, resources, groups, users, ...terms } }) => {
      const { idempotencyKey } = ctx.request;
      return role === undefined
        ? requestDynamicElevation(ctx.caller, { ...terms, permissions, resources, groups, users, idempotencyKey })
        : requestElevation(ctx.caller, { ...terms, role: resolveRole(ctx.caller, role), idempotencyKey });
    }),
  dynamic: authenticated
    .meta({
      openapi: {
        method: 'GET',
        path: '/elevate/dynamic',
        tags,
        summary: 'List where you may ask for access of your own choosing, and within which bounds',
      },
      rest: { html: 'offered' },
    })
    .output(
      z.object({
        bounds: z.array(
          z.object({
            provider: z.string(),
            name: z.string(),
            permissions: nameRules,
            resources: nameRules,
            groups: nameRules,
            workflows: z.array(z.string()),
            max_duration: z.string().describe('ISO 8601 duration'),
            default_duration: z.string().describe('ISO 8601 duration'),
            for_others: z.boolean().describe('Whether you may ask for others'),
          }),
        ),
      }),
    )
    .query(({ ctx }) => listDynamicBounds(ctx.caller)),
  suggestForm: authenticated
    .meta({
      openapi: { method: 'GET', path: '/elevate/llm', tags, summary: 'Show the form to ask in your own words' },
      rest: { html: 'preferred' },
    })
    .output(
      z.object({ method: z.string(), fields: z.array(z.object({ name: z.string(), max_length: z.number().int() })) }),
    )
    .query(() => ({ method: 'POST', fields: [{ name: 'reason', max_length: longestProse }] })),
  /** A mutation only so that the words travel in a body, and never in an address; it changes nothing. */
  suggest: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/elevate/llm',
        tags,
        summary: 'Suggest a role for your own words; nothing is requested or granted',
        contentTypes: ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'],
      },
      rest: { html: 'offered' },
    })
    .input(z.strictObject({ reason: prose.describe('What you want to do, or the refusal that you ran into') }))
    .output(suggestion)
    .mutation(({ ctx, input }) => suggestElevation(ctx.caller, input)),
  prepareResume: authenticated
    .meta({
      openapi: {
        method: 'POST',
        path: '/elevate/resume/token',
        tags,
        summary: 'Seal a decision, or an event that a task waits for, for yourself: what resumes a waiting workflow',
      },
    })
    .input(resumeToken)
    .output(z.object({ state: z.string() }))
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
    .input(z.strictObject({ state: opaque }))
    .output(resumeResult)
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
    .input(z.strictObject({ state: opaque }))
    .output(resumeResult)
    .mutation(async ({ ctx, input }) => redirectUnlessJson(ctx, await resumeExecution(ctx.caller, input))),
});
