import { z } from 'zod';
import { workflowStatus } from './executions.js';
import { done, eventName, instant, moment, name, opaque } from './fields.js';
import { limits } from './limits.js';
import { logLevel } from './logs.js';
import { mutation, query } from './operation.js';
import { next, paging } from './paging.js';

const person = z.object({ id: z.string(), email: z.string(), name: z.string() });
/** The reason that an administrator gives for an action; written to the audit log. */
const why = z.string().trim().min(1).max(limits.operatorReason);
const email = name.describe('E-mail address');

/** Selects access: each field that is present narrows the selection. */
export const accessFilter = z.strictObject({
  user: email.optional().describe('E-mail address of the person who requested it'),
  provider: name.optional(),
  role: name.optional(),
});
export type AccessFilter = z.infer<typeof accessFilter>;

export const heldAccess = z.object({
  id: z.string(),
  execution_id: z.string(),
  user: person.describe('Who requested it'),
  role: z.string(),
  provider: z.string(),
  identity: z.string().describe('Who has it, by their name at the provider'),
  access: z.unknown().describe("The access, in the provider's own terms"),
  state: z.enum(['granting', 'active']),
  granted_at: instant.nullable(),
  expires_at: instant.nullable().describe('Null until the access is active'),
  break_glass: z
    .boolean()
    .describe('Whether the role was for emergencies: each use notifies the people whom its configuration names'),
});
/** Access that a person holds now, as administrators and auditors see it. */
export type HeldAccess = z.infer<typeof heldAccess>;

export const heldAccessList = z.object({ access: z.array(heldAccess), next });
export type HeldAccessList = z.infer<typeof heldAccessList>;

export const revokeRequest = accessFilter
  .extend({
    execution_id: name.optional().describe('The access of one request, with its extensions'),
    reason: why,
    end_requests: z
      .boolean()
      .optional()
      .describe('Also terminate matching requests that have not ended, so that they grant nothing more'),
  })
  .refine(({ user, provider, role, execution_id: id }) => [user, provider, role, id].some(Boolean), {
    path: ['user'],
    message: 'must name a person, a provider, a role or an execution',
  });
export type RevokeRequest = z.input<typeof revokeRequest>;

export const revoked = z.object({
  ...done.shape,
  revoked: z.array(z.string()).describe('Executions whose access was ended now'),
  ended: z.array(z.string()).describe('Executions that were terminated'),
  open: z
    .array(z.string())
    .describe('Matching executions that have not ended: what they are granted from now on is not revoked by this'),
  more: z.boolean().describe('Whether access is left, because one call ends at most 200 executions: call again'),
});
/** What one call revoked. */
export type Revoked = z.infer<typeof revoked>;

export const overdueRevocation = z.object({
  id: z.string(),
  provider: z.string(),
  identity: z.string(),
  access: z.unknown(),
  users: z.array(person),
  executions: z.array(z.string()),
  since: instant.describe('When the access should have ended'),
  attempts: z.number().int().describe('Failed attempts in a row'),
  last_error: z.string().nullable(),
  pending: z.string().nullable(),
  elsewhere: z
    .boolean()
    .describe(
      'Whether the address of the provider leads to another target than the one that holds it, or to a copy of it',
    ),
  left_to_others: z
    .string()
    .nullable()
    .describe(
      "What the revocation leaves at the provider because it was given by others or can be another person's; it stays when an administrator accepts it",
    ),
  next_try: instant.describe('In the past while an attempt runs or is due'),
});
export type OverdueRevocation = z.infer<typeof overdueRevocation>;

export const overdueList = z.object({ revocations: z.array(overdueRevocation), next });
export type OverdueList = z.infer<typeof overdueList>;

export const auditFilter = z.strictObject({
  user: email.optional().describe('E-mail address of who acted, or of whom it concerns'),
  role: name.optional(),
  provider: name.optional(),
  type: name.optional().describe('The event'),
  level: logLevel.optional(),
  execution_id: name.optional(),
  since: moment.optional(),
  until: moment.optional(),
});
export type AuditFilter = z.input<typeof auditFilter>;

export const auditEntry = z.object({
  id: z.string(),
  timestamp: instant,
  level: logLevel,
  type: eventName,
  message: z.string(),
  actor: z.string().describe('Who acted: an e-mail address, `operator <name>`, `agent <name>` or `system <part>`'),
  user: z.string().describe('E-mail address of the person whom it concerns; empty for none'),
  role: z.string(),
  provider: z.string(),
  execution_id: z.string(),
  data: z.unknown(),
});
/** One entry of the audit log. */
export type AuditEntry = z.infer<typeof auditEntry>;

const auditCursor = paging.cursor.describe('`next` of the previous page');
export const auditPage = z.object({
  logs: z.array(auditEntry),
  next: next.describe(
    'Cursor of the next page; null when there is none. A page can be empty and still have one, because each call searches a part of the log',
  ),
});
export type AuditPage = z.infer<typeof auditPage>;

export const configurationVersion = z.object({
  version: z.string(),
  applied_at: instant,
  source: z.string().describe('The file or folder that it was read from'),
  digest: z.string(),
});
export const configurationVersions = z.object({ versions: z.array(configurationVersion), next });
export type ConfigurationVersions = z.infer<typeof configurationVersions>;

export const configurationChange = z.object({
  path: z.string().describe('The key, as `roles.admin.max_duration`'),
  change: z.enum(['added', 'removed', 'changed']),
  before: z.string().nullable().describe('As JSON; null when it is hidden or was not there'),
  after: z.string().nullable(),
  hidden: z.boolean().describe('Whether the values are left out, because they may be secret'),
});
export type ConfigurationChange = z.infer<typeof configurationChange>;

export const changedSection = z.object({
  section: z.string().describe('A key at the top of the configuration, such as `roles`'),
  added: z.number().int().describe('How many of its entries were added'),
  removed: z.number().int(),
  changed: z.number().int(),
});

export const configurationDiff = z.object({
  from: configurationVersion.nullable().describe('Null for the first version'),
  to: configurationVersion,
  sections: z.array(changedSection).describe('All that changed, also where not every change is listed'),
  changes: z.array(configurationChange),
  truncated: z.boolean().describe('Whether there are more changes than are listed'),
});
export type ConfigurationDiff = z.infer<typeof configurationDiff>;

export const knownPerson = z.object({
  ...person.shape,
  provider: z.string(),
  groups: z.array(z.string()),
  created_at: instant,
  deactivated: z.boolean().describe('Whether a directory says that the person has left'),
  logins: z.number().int(),
  tokens: z.number().int(),
});
export type KnownPerson = z.infer<typeof knownPerson>;

export const peopleList = z.object({ people: z.array(knownPerson), next });
export type PeopleList = z.infer<typeof peopleList>;

export const personLogin = z.object({
  id: z.string(),
  kind: z.enum(['browser', 'device', 'token']),
  provider: z.string(),
  label: z.string().nullable(),
  created_at: instant,
  expires_at: instant,
});

export const personDetails = z.object({
  person: knownPerson,
  identities: z.array(z.object({ provider: z.string(), subject: z.string(), email: z.string(), told_at: instant })),
  logins: z.array(personLogin),
  access: z.array(heldAccess),
  requests: z
    .array(z.object({ id: z.string(), role: z.string(), status: workflowStatus, created_at: instant }))
    .describe('The requests that have not ended'),
});
/** One person with their identities, logins, access and open requests; at most 200 of each. */
export type PersonDetails = z.infer<typeof personDetails>;

export const stoppedPerson = z.object({
  ...done.shape,
  logins: z.number().int(),
  tokens: z.number().int(),
  requests: z.array(z.string()),
  access: z.array(z.string()),
});
export type StoppedPerson = z.infer<typeof stoppedPerson>;

export const listedAgent = z.object({
  id: z.string(),
  name: z.string(),
  environment: z.string().nullable(),
  description: z.string().nullable(),
  enrolled_at: instant,
  expires_at: instant,
  registered_at: instant.nullable(),
  seen_at: instant.nullable(),
  catalog_version: z.string().nullable(),
});
export type ListedAgent = z.infer<typeof listedAgent>;
export const agentList = z.object({ agents: z.array(listedAgent), next });
export type AgentList = z.infer<typeof agentList>;

const one = z.strictObject({ id: name, reason: why });

export const restoreStatus = z.object({
  closed_since: instant.nullable().describe('Since when grants wait; null while they are permitted'),
  reason: z.string().nullable(),
  providers: z.array(
    z.object({
      provider: z.string(),
      status: z.enum(['waiting', 'failed', 'compared', 'skipped']),
      note: z.string().nullable().describe('Why it was skipped, or why the latest attempt failed'),
      skip: z
        .object({ by: z.string(), reason: z.string() })
        .optional()
        .describe('The administrator who proposes to skip it, and why; another administrator has to agree'),
    }),
  ),
  leftovers: z
    .array(
      z.object({
        id: z.string(),
        provider: z.string(),
        identity: z.string(),
        access: z.unknown(),
        mark: z.string().nullable(),
        found_at: instant,
      }),
    )
    .describe('Access that an administrator must decide about'),
});
/** A restore of the database, and what it waits for. */
export type RestoreStatus = z.infer<typeof restoreStatus>;

export const sameTarget = z.object({
  provider: z.string(),
  held_at: z.array(z.string()).describe('The fingerprints of the targets where access of the provider is held'),
  target: z.string().describe('The fingerprint of the server that responds now'),
  doubt: z.string().nullable().describe('Why its server is not believed, after "The server"; null when it is believed'),
  pairs: z
    .array(
      z.object({
        id: z.string(),
        identity: z.string(),
        access: z.unknown(),
        stored: z.unknown().describe('The identifiers that Belay stored'),
        found: z.unknown().describe('The identifiers that the names have there now; null when a name does not exist'),
        same: z.boolean(),
        ours: z
          .boolean()
          .nullable()
          .describe('Whether it is listed as granted by Belay; null when that cannot be told'),
      }),
    )
    .describe('The access that is held'),
  gives_up: z.array(z.string()).describe('What confirming gives up'),
  digest: z.string().describe('Names what is shown here, for the confirmation'),
});
/** What is held at a provider, beside what the server says that responds now. */
export type SameTarget = z.infer<typeof sameTarget>;

/** The operations of administrators and auditors (`access` of the configuration). */
export const adminOperations = {
  access: query({ input: accessFilter.extend(paging), output: heldAccessList }),
  revoke: mutation({ input: revokeRequest, output: revoked }),
  overdue: query({ input: z.strictObject(paging), output: overdueList }),
  retry: mutation({ input: one, output: done }),
  accept: mutation({
    input: one.extend({
      left: opaque.describe(
        '`left_to_others` as it was read: rejected with `conflict` when something else is left now',
      ),
    }),
    output: done,
  }),
  logs: query({ input: auditFilter.extend(paging), output: auditPage }),
  exportLogs: query({
    input: auditFilter.extend({
      cursor: auditCursor,
      format: z.enum(['csv']).optional().describe('For a link; other clients send `Accept: text/csv`'),
    }),
    output: auditPage,
  }),
  configurations: query({ input: z.strictObject(paging), output: configurationVersions }),
  configuration: query({
    input: z.strictObject({
      version: name.describe('`1.0.N`'),
      from: name.optional().describe('The version to compare with; default: the one before'),
    }),
    output: configurationDiff,
  }),
  people: query({
    input: z.strictObject({
      q: opaque.max(limits.name).optional().describe('Part of a name or an address'),
      ...paging,
    }),
    output: peopleList,
  }),
  person: query({ input: z.strictObject({ user: email }), output: personDetails }),
  stop: mutation({ input: z.strictObject({ user: email, reason: why }), output: stoppedPerson }),
  separate: mutation({
    input: z.strictObject({
      user: email,
      other: name.describe('E-mail address of the other person, or the id of their account'),
      reason: why,
    }),
    output: done,
  }),
  endLogin: mutation({ input: one, output: done }),
  agents: query({ input: z.strictObject(paging), output: agentList }),
  removeAgent: mutation({ input: one, output: done }),
  restore: query({ output: restoreStatus }),
  beginRestore: mutation({ input: z.strictObject({ reason: why }), output: done }),
  answerLeftover: mutation({
    input: z.strictObject({ id: name, answer: z.enum(['keep', 'revoke']), reason: why }),
    output: done,
  }),
  skipProvider: mutation({ input: z.strictObject({ provider: name, reason: why }), output: done }),
  openRestore: mutation({ output: done }),
  target: query({ input: z.strictObject({ provider: name }), output: sameTarget }),
  confirmTarget: mutation({
    input: z.strictObject({
      provider: name,
      digest: name.describe('`digest` of what was shown'),
      by_name: z.boolean().optional().describe('Replace the stored identifiers by those that the names have now'),
      reason: why,
    }),
    output: done,
  }),
};
