import { z } from 'zod';
import { duration, name, names, remark, someNames } from './fields.js';
import { limits } from './limits.js';
import { mutation, query } from './operation.js';
import { next, pagingOfWhole } from './paging.js';

export const audience = z.object({ users: z.array(z.string()).optional(), groups: z.array(z.string()).optional() });
/** The people that a rule names, by e-mail address and by group. */
export type Audience = z.infer<typeof audience>;

const reasonRule = z.object({ required: z.boolean(), pattern: z.string().optional() });

export const role = z.object({
  name: z.string(),
  description: z.string(),
  providers: z.array(z.string()),
  workflows: z.array(z.string()),
  enabled: z.boolean(),
  permissions: audience.optional().describe('Who can see and request the role; absent: everyone who is signed in'),
  max_duration: z.string().describe('ISO 8601 duration'),
  default_duration: z.string().describe('ISO 8601 duration'),
  reason: reasonRule,
  inherits: z.array(z.string()),
  grants: z.array(
    z.object({ provider: z.string(), access: z.unknown().describe("The access, in the provider's own terms") }),
  ),
  break_glass: z
    .boolean()
    .optional()
    .describe(
      'Whether the role is for emergencies: each use notifies the people whom its configuration names; absent: it is not',
    ),
});
/** A role with its bounds and with what it grants. */
export type Role = z.infer<typeof role>;
/** A piece of access that a role gives at one provider, in that provider's own terms. */
export type RoleGrant = Role['grants'][number];

/** A Role as a client may send it back: it has only fields of `role`. */
export const roleBody = z.strictObject({
  name,
  description: remark.optional(),
  providers: someNames.optional(),
  workflows: names.optional(),
  enabled: z.boolean().optional(),
  permissions: z.strictObject({ users: names.optional(), groups: names.optional() }).optional(),
  max_duration: duration.optional(),
  default_duration: duration.optional(),
  reason: z.strictObject({ required: z.boolean(), pattern: z.string().optional() }).optional(),
  inherits: names.optional(),
  grants: z.array(z.unknown()).optional(),
  break_glass: z.boolean().optional(),
});

export const roleList = z.object({
  version: z.string(),
  roles: z.record(z.string(), z.object({ role })),
  next,
});
export type RoleList = z.infer<typeof roleList>;

export const starredRoles = z.object({ roles: z.array(z.string()).describe('Names, the last starred first') });
/** The roles that a person starred and can still see. */
export type StarredRoles = z.infer<typeof starredRoles>;

export const roleStar = z.object({ role: z.string(), starred: z.boolean() });
/** Whether a person starred a role. */
export type RoleStar = z.infer<typeof roleStar>;

export const roleOperations = {
  list: query({
    input: z.strictObject({
      provider: someNames.optional(),
      q: z
        .string()
        .max(limits.reason)
        .optional()
        .describe(
          'Words of a name, a description or a system, or a sentence that says what is needed; best match first',
        ),
      ...pagingOfWhole,
    }),
    output: roleList,
  }),
  get: query({ input: z.strictObject({ role: name }), output: role }),
  starred: query({ output: starredRoles }),
  star: mutation({ input: z.strictObject({ role: name }), output: roleStar }),
  unstar: mutation({ input: z.strictObject({ role: name }), output: roleStar }),
};
