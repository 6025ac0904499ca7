import { z } from 'zod';
import { errorCode } from './error-body.js';
import { duration, json, name, names, opaque, reason, someNames, verdict } from './fields.js';
import { limits } from './limits.js';
import { mutation, query } from './operation.js';
import { roleBody } from './roles.js';
import { suggestionOperations } from './suggestions.js';

export const elevation = z.object({
  status: z.enum(['pending']),
  output: z.object({ workflow_id: z.string(), execution_id: z.string() }),
});
/** A request that was accepted. */
export type Elevation = z.infer<typeof elevation>;

export const resumption = z.object({
  workflow_id: z.string(),
  status: z.enum(['completed']),
  output: z.object({ approved: z.boolean(), session_created: z.boolean() }),
});
export type Resumption = z.infer<typeof resumption>;

export const nameRules = z.object({ allow: z.array(z.string()), deny: z.array(z.string()) });
/** Patterns of names that can be requested, and of names that cannot; `*` matches any run of characters. */
export type NameRules = z.infer<typeof nameRules>;

export const dynamicBounds = z.object({
  provider: z.string(),
  name: z.string(),
  permissions: nameRules,
  resources: nameRules,
  groups: nameRules,
  workflows: z.array(z.string()),
  max_duration: z.string().describe('ISO 8601 duration'),
  default_duration: z.string().describe('ISO 8601 duration'),
  for_others: z.boolean().describe('Whether you can request access for other people'),
});
/** The bounds within which a person can request access at a provider without a role. */
export type DynamicBounds = z.infer<typeof dynamicBounds>;

/** The fields that are only allowed in a dynamic request, which has no role. */
const dynamicFields = ['permissions', 'resources', 'groups', 'users'] as const;

/** The session with a provider that a program presents in a request. */
const presentedSession = z.strictObject({ version: z.number().int(), expiry: name, session: opaque });

const terms = {
  providers: someNames.optional().describe('Default: all providers of the role'),
  authenticator: name.optional().describe('The authenticator to use, when the workflow offers a choice'),
  workflow: name.optional().describe("One of the role's workflows; default: its first"),
  reason: reason.optional().describe('Required, unless the role makes it optional'),
  duration: duration.optional(),
  identities: names.optional().describe("Whom to elevate; default: the caller's own identity"),
};
const dynamicTerms = {
  permissions: names.optional().describe('Dynamic request: names of the provider’s permissions'),
  resources: names.optional().describe('Dynamic request: the resources that the permissions apply to'),
  groups: names.optional().describe('Dynamic request: the provider’s roles, as <provider>:<role>'),
  users: names.optional().describe('Dynamic request: further identities to elevate, besides `identities`'),
};

const elevationRequest = z
  .strictObject({
    role: z
      .union([name, roleBody])
      .optional()
      .describe('The name of a role, or a Role object, of which only the name is used; absent in a dynamic request'),
    ...terms,
    session: presentedSession.optional(),
    ...dynamicTerms,
  })
  .superRefine((input, refused) => {
    const given = dynamicFields.filter((field) => input[field] !== undefined);
    if (input.role === undefined && input.permissions === undefined && input.groups === undefined) {
      refused.addIssue({
        code: 'custom',
        path: ['role'],
        message: 'is required, unless permissions or groups are requested',
      });
    }
    if (input.role === undefined) return;
    for (const field of given) {
      refused.addIssue({ code: 'custom', path: [field], message: 'is only allowed in a request without a role' });
    }
  });

/** A request for a role, by its name. */
export type ElevationRequest = { role: string } & z.input<z.ZodObject<typeof terms>>;

/** A request that names permissions or groups instead of a role, within the bounds that `dynamicBounds` lists. */
export type DynamicElevationRequest = { providers: string[] } & z.input<
  z.ZodObject<Omit<typeof terms, 'providers'> & typeof dynamicTerms>
>;

const listenedEvent = z.strictObject({ type: name, data: json.optional() });

const resumeRequest = z
  .strictObject({
    execution_id: name,
    verdict: verdict.optional().describe('Required for a decision, together with `request_digest`'),
    request_digest: name.optional().describe('Digest of the request that you were shown'),
    event: listenedEvent.optional().describe('Type of the event that a task listens for'),
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
/**
 * What resumes a waiting workflow: a decision about the request that was shown, or an event that a task listens for.
 */
export type ResumeRequest =
  | { execution_id: string; verdict: z.input<typeof verdict>; request_digest: string }
  | { execution_id: string; event: z.input<typeof listenedEvent> };

const sealedState = z.strictObject({ state: opaque });

export const manyElevations = z.strictObject({
  roles: names
    .min(1, 'must name at least one')
    .max(limits.roles)
    .describe('Names of roles, or <provider>:<role> for a role at one of its providers'),
  reason: reason.optional().describe('Given with each request'),
  duration: duration.optional().describe('Of each request; default: the default duration of each role'),
});
/** Several roles on the same terms; each becomes a request of its own. */
export type ManyElevations = z.input<typeof manyElevations>;

export const manyRequested = z.object({
  results: z
    .array(
      z.object({
        role: z.string(),
        execution_id: z.string().nullable().describe('Null when the request was rejected'),
        error: z.object({ code: errorCode, message: z.string() }).nullable(),
      }),
    )
    .describe('In the order of `roles`; each is a request of its own'),
  requested: z.number().int().describe('How many requests were accepted'),
  rejected: z.number().int().describe('How many were not'),
});
export type ManyRequested = z.infer<typeof manyRequested>;

export const elevationOperations = {
  requestMany: mutation({ input: manyElevations, output: manyRequested }),
  requestLink: mutation({
    input: z.strictObject({
      role: name,
      provider: name,
      workflow: name.optional(),
      reason,
      duration: duration.optional(),
      identities: names.optional(),
      session: opaque.optional(),
    }),
    output: elevation,
  }),
  request: mutation({ input: elevationRequest, output: elevation }),
  dynamic: query({ output: z.object({ bounds: z.array(dynamicBounds) }) }),
  ...suggestionOperations,
  prepareResume: mutation({ input: resumeRequest, output: z.object({ state: z.string() }) }),
  resumeLink: mutation({ input: sealedState, output: resumption }),
  resume: mutation({ input: sealedState, output: resumption }),
};
