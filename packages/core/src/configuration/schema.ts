import { foldAddress } from '@belay/contract/address';
import { noticeKind, noticeKinds, timeOfDay, timeZone } from '@belay/contract/preferences';
import { emailDomain } from '@belay/providers';
import { z } from 'zod';

/** The name of a provider, role, workflow or event source. */
const name = z
  .string()
  .min(1)
  .max(128)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
    'must contain only letters, digits, dots, dashes and underscores, and begin with a letter or digit',
  );

/** The e-mail address of a person. An address whose lower case is ambiguous is rejected, because it could match another person. */
export const address = z.string().refine((text) => foldAddress(text) !== undefined, {
  message:
    'is not an e-mail address in canonical form: write it as rita@example.com, without letters whose lower case is ambiguous',
});
const audience = { users: z.array(address).optional(), groups: z.array(z.string().min(1)).optional() };
const strings = z.array(z.string().min(1)).default([]);
const limit = (usual: number) => z.int().min(1).max(100_000).default(usual);
/** Checked as a duration when the catalog is compiled. */
const duration = z.string().min(1);

/** Names that may be requested, and names that may not; `*` stands for any characters, and `deny` wins. */
const nameRules = z.strictObject({ allow: strings, deny: strings }).default({ allow: [], deny: [] });

/** What people may request at a provider in a request that names no role (decision 0022). */
const dynamicSchema = z.strictObject({
  permissions: nameRules,
  resources: nameRules,
  /** The provider's own roles that may be requested. */
  groups: nameRules,
  /** The first is used unless the request names another. */
  workflows: z.array(name).min(1),
  /** Who may request. Required: without `dynamic`, requests must name a role. */
  requesters: z
    .strictObject(audience)
    .refine(({ users = [], groups = [] }) => users.length + groups.length > 0, 'must name at least one user or group'),
  /** Which of them may request for others (docs/interface.md, section 16, rule 14). */
  delegates: z.strictObject(audience).optional(),
  authenticators: z.array(name).optional(),
  max_duration: duration.optional(),
  default_duration: duration.optional(),
});

/** Which groups of an authenticator are accepted, and under which names (decision 0041). */
const groupsSchema = z.union(
  [
    z.literal('all'),
    z.strictObject({ allow: z.array(z.string().min(1)) }),
    z.strictObject({ map: z.record(z.string().min(1), z.string().min(1)) }),
  ],
  { error: 'must be all, {allow: [group, …]} or {map: {their group: our group, …}}' },
);

const listed = z.array(z.string().min(1)).min(1);

/** Who may sign in with an authenticator: of each list that is present, at least one entry must match. */
const signInSchema = z
  .strictObject({
    email_domains: z.array(emailDomain).min(1).optional(),
    organizations: listed.optional(),
    groups: listed.optional(),
  })
  .refine((conditions) => Object.keys(conditions).length > 0, 'must have email_domains, organizations or groups');

const callsSchema = z.strictObject({
  /** How many calls the provider accepts within `per`: for one that does not state this in its responses. */
  most: z.int().min(10).max(10_000_000).optional(),
  /** An hour unless set. */
  per: duration.default('PT1H'),
  /** How many percent of this limit, and of those that the provider states, only revocations use. */
  reserved: z.int().min(1).max(90).default(20),
});

export const providerSchema = z.strictObject({
  name: z.string().min(1).optional(),
  description: z.string().default(''),
  /** The connector's type. */
  provider: z.string().min(1),
  enabled: z.boolean().default(true),
  config: z.record(z.string(), z.json()).default({}),
  permissions: z.strictObject(audience).optional(),
  /** Can only remove capabilities (docs/architecture.md, section 11). */
  capabilities: z.array(z.enum(['authenticator', 'authorizer', 'identities', 'notifications'])).optional(),
  max_duration: duration.optional(),
  /** What the provider accepts, for all servers and workers together (docs/guides/operators.md). */
  calls: callsSchema.optional(),
  /** Whether people who hold access here may see where the system is: its host, port and database. */
  share_connection: z.boolean().optional(),
  /** When absent, requests must name a role. */
  dynamic: dynamicSchema.optional(),
  /**
   * E-mail domains for which this provider is trusted: its verified addresses there identify the same person as those
   * of other such providers (docs/interface.md, section 16, rule 15).
   */
  trusted_email_domains: z.array(emailDomain).optional(),
  /** When absent: all, while this is the only sign-in provider; otherwise none. */
  groups: groupsSchema.optional(),
  sign_in: signInSchema.optional(),
  /** Lets a directory provision the people and groups of this sign-in provider by SCIM (docs/connectors/scim.md). */
  scim: z
    .strictObject({
      /** Which name of a provisioned group counts; with `sign_in`, groups come only from sign-ins. */
      groups: z.enum(['display_name', 'external_id', 'sign_in']).default('display_name'),
    })
    .optional(),
});

export const roleSchema = z.strictObject({
  name: z.string().min(1).optional(),
  description: z.string().default(''),
  providers: z.array(name).min(1),
  workflows: z.array(name).min(1),
  enabled: z.boolean().default(true),
  permissions: z
    .strictObject({
      ...audience,
      allow: strings,
      deny: strings,
      /** Who may request for others (docs/interface.md, section 16, rule 14). */
      delegates: z.strictObject(audience).optional(),
    })
    .optional(),
  resources: z.strictObject({ allow: strings, deny: strings }).optional(),
  /** Our own roles by name, a provider's as `<provider>:<role>`. */
  inherits: z.array(z.string().min(1)).default([]),
  authenticators: z.array(name).optional(),
  max_duration: duration.optional(),
  /** How long after its decision an approval may be used; by default as for the server. */
  approval_lifetime: duration.optional(),
  default_duration: duration.optional(),
  reason: z.strictObject({ required: z.boolean().default(true), pattern: z.string().optional() }).optional(),
  /** Whether decisions count only when they are made in Belay itself, and not by a button in a message. */
  decide_on_page: z.boolean().optional(),
  /** Whether approvers are told of a request in their quiet hours too. */
  urgent: z.boolean().optional(),
  /** For emergencies: each use is told at once, also in quiet hours, to these people and to the operators. */
  break_glass: z
    .strictObject({
      tell: z.strictObject(audience),
      /** Each use is to be reviewed by one of these people, within this time after the end of the access. */
      review: z.strictObject({ by: z.strictObject(audience), within: duration.default('P7D') }).optional(),
    })
    .optional(),
  /**
   * Whether people who open or request the role, and may not, are told that it exists and which groups may request it.
   */
  discoverable: z.boolean().optional(),
});

export const workflowSchema = z.strictObject({
  name: z.string().min(1).optional(),
  description: z.string().default(''),
  enabled: z.boolean().default(true),
  /** The Serverless Workflow document, checked by packages/workflow. */
  workflow: z.record(z.string(), z.json()),
});

/** A host that workflows may call, as `host` or `host:port`. Its address may be private only with `allow_private`. */
const httpHost = z.union([
  z
    .string()
    .min(1)
    .transform((host) => ({ host, allow_private: false })),
  z.strictObject({ host: z.string().min(1), allow_private: z.boolean().default(false) }),
]);

const serverSchema = z.strictObject({
  /** URLs that a login may return to; loopback URLs and the server's own are always allowed. */
  callbacks: z.array(z.url()).default([]),
  max_duration: duration.optional(),
  /** How long after its decision an approval may be used; then it must be requested again. An hour unless set. */
  approval_lifetime: duration.optional(),
  /** How often each provider is compared with what Belay granted there; an hour unless set. */
  drift_interval: duration.optional(),
  /** The limits per person. What exceeds them is rejected. */
  limits: z
    .strictObject({
      /** Requests that have not ended, and ended requests whose access has not ended. */
      open_requests: limit(20),
      /** Requests and extensions of the last hour, cancelled and rejected ones among them. */
      requests_per_hour: limit(120),
      /** Lists that a person reads from providers, such as identities: each costs calls there. */
      lists_per_hour: limit(600),
      /** Event streams per process. */
      event_streams: limit(10),
      /** Events for one request that no task has taken yet. */
      signals: limit(100),
    })
    .prefault({}),
  /** When logins end regardless of their use; can only shorten the built-in limit. */
  login: z.strictObject({ browser: duration.optional(), device: duration.optional() }).optional(),
  /** How long old ledger entries and ended requests are kept; for ever by default. */
  retention: z
    .strictObject({
      /** Entries of the ledger, counted from the end of their month, and only once they are archived (`belay ledger archive`). */
      ledger: duration.optional(),
      /** Requests, counted from the end of the request and of all that extend it. A summary of each is written to the ledger. */
      requests: duration.optional(),
    })
    .optional(),
  /** Hosts that `call: http` may call, as `host` or `host:port`; none by default. */
  http_hosts: z.array(httpHost).default([]),
});

/** A service that has no settings here; the message names where they are. */
const elsewhere = (message: string) => z.strictObject({}, { error: message }).optional();
const service = z.record(z.string(), z.json()).optional();

/** The services; their settings are checked when the catalog is compiled, with references resolved. */
const servicesSchema = z.strictObject({
  encryption: service,
  llm: service,
  vault: service,
  scheduler: elsewhere('must have no settings here: REDIS_URL is the address of the queue'),
  storage: elsewhere('must have no settings here: DATABASE_URL is the address of the database'),
});

/** A program that may send events to executions, with one secret, as a reference. */
const eventSourceSchema = z.strictObject({
  token: z.string().min(1).optional(),
  standard_webhooks: z.strictObject({ secret: z.string().min(1) }).optional(),
});

/** Who oversees everything. No one by default; an entry must name at least one user, group or owner of tokens. */
const overseersSchema = z
  .strictObject({
    /** Addresses of people, where a sign-in provider that is trusted for the address proved it. */
    users: z.array(address).optional(),
    /** Groups under their names in Belay (decision 0041). */
    groups: z.array(z.string().min(1)).optional(),
    /** Addresses of people whose tokens count. A token is not compared with `users` and `groups`. */
    tokens: z.array(address).optional(),
  })
  .refine(
    ({ users = [], groups = [], tokens = [] }) => users.length + groups.length + tokens.length > 0,
    'must name at least one user, group or owner of tokens; to have none, remove the key',
  );

const accessSchema = z.strictObject({
  /** See every request, all access, the audit log, people and versions of the configuration, and may revoke. */
  administrators: overseersSchema.optional(),
  /** See the same, and change nothing. */
  auditors: overseersSchema.optional(),
});

/** What people are told outside of Belay, and where (docs/guides/notifications.md). */
const messagesSchema = z.strictObject({
  /** Providers that deliver messages. Each person is told on all of them, unless they prefer fewer. */
  channels: z.array(name).min(1, 'must name at least one provider that delivers messages'),
  /** The kinds of notices that are sent; all kinds unless set. */
  kinds: z
    .array(noticeKind)
    .min(1)
    .default([...noticeKinds]),
  /** Who is told of overdue revocations and reviews, of the use of emergency roles, and of access that differs from what Belay granted. */
  operators: z.array(z.strictObject({ provider: name, to: z.string().min(1) })).default([]),
  /** The time of day, and its time zone, of the digest that tells approvers how many requests wait for them. */
  digest: timeOfDay.default('08:00'),
  time_zone: timeZone.default('UTC'),
});

/** The configuration as a whole (docs/architecture.md, section 11): one document, one version. */
export const catalogSchema = z.strictObject({
  version: z.union([z.string(), z.number()]).optional(),
  server: serverSchema.prefault({}),
  services: servicesSchema.optional(),
  events: z.strictObject({ sources: z.record(name, eventSourceSchema) }).optional(),
  access: accessSchema.optional(),
  messages: messagesSchema.optional(),
  providers: z.record(name, providerSchema).default({}),
  roles: z.record(name, roleSchema).default({}),
  workflows: z.record(name, workflowSchema).default({}),
});

export type CatalogDocument = z.infer<typeof catalogSchema>;
export type OverseersDefinition = z.infer<typeof overseersSchema>;
export type MessagesDefinition = z.infer<typeof messagesSchema>;
export type DynamicDefinition = z.infer<typeof dynamicSchema>;
export type ProviderDefinition = z.infer<typeof providerSchema>;
export type RoleDefinition = z.infer<typeof roleSchema>;
export type WorkflowDefinition = z.infer<typeof workflowSchema>;
