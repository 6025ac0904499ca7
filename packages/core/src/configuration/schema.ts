import { foldAddress } from '@belay/contract/address';
import { emailDomain } from '@belay/providers';
import { z } from 'zod';

/** `https://…` and friends go in as text; references `${env:NAME}` and `${vault:path#key}` stay references here. */
const name = z
  .string()
  .min(1)
  .max(128)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
    'must contain only letters, digits, dots, dashes and underscores, and begin with a letter or digit',
  );

/** An address of a person as the configuration names them; one that cannot be compared would name another, or no one. */
export const address = z.string().refine((text) => foldAddress(text) !== undefined, {
  message:
    'is not an e-mail address in canonical form: write it as rita@example.com, without letters whose lower case is ambiguous',
});
const audience = { users: z.array(address).optional(), groups: z.array(z.string().min(1)).optional() };
const strings = z.array(z.string().min(1)).default([]);
const limit = (usual: number) => z.int().min(1).max(100_000).default(usual);
/** Checked as a duration when the catalog is compiled. */
const duration = z.string().min(1);

/** Names that may be asked for, and those that may not; `*` stands for any run of characters, and `deny` wins. */
const nameRules = z.strictObject({ allow: strings, deny: strings }).default({ allow: [], deny: [] });

/** What people may put together by themselves at a provider, in a request that names no role (decision 0022). */
const dynamicSchema = z.strictObject({
  permissions: nameRules,
  resources: nameRules,
  /** The provider's own roles, to become a member of. */
  groups: nameRules,
  /** The first is used unless the request names another. */
  workflows: z.array(name).min(1),
  /** Who may ask. Nobody, unless named. */
  requesters: z
    .strictObject(audience)
    .refine(({ users = [], groups = [] }) => users.length + groups.length > 0, 'must name at least one user or group'),
  /** Who of them may ask for others (docs/interface.md, section 16, rule 14). */
  delegates: z.strictObject(audience).optional(),
  authenticators: z.array(name).optional(),
  max_duration: duration.optional(),
  default_duration: duration.optional(),
});

/** Which groups of an authenticator pass, and under which names (decision 0041). */
const groupsSchema = z.union(
  [
    z.literal('all'),
    z.strictObject({ allow: z.array(z.string().min(1)) }),
    z.strictObject({ map: z.record(z.string().min(1), z.string().min(1)) }),
  ],
  { error: 'must be all, {allow: [group, …]} or {map: {their group: our group, …}}' },
);

const listed = z.array(z.string().min(1)).min(1);

/** Who may sign in with an authenticator: of each list that is given, at least one has to fit. */
const signInSchema = z
  .strictObject({
    email_domains: z.array(emailDomain).min(1).optional(),
    organizations: listed.optional(),
    groups: listed.optional(),
  })
  .refine((conditions) => Object.keys(conditions).length > 0, 'must have email_domains, organizations or groups');

export const providerSchema = z.strictObject({
  name: z.string().min(1).optional(),
  description: z.string().default(''),
  /** The connector's type. */
  provider: z.string().min(1),
  enabled: z.boolean().default(true),
  config: z.record(z.string(), z.json()).default({}),
  permissions: z.strictObject(audience).optional(),
  /** Can only take capabilities away (docs/architecture.md, section 11). */
  capabilities: z.array(z.enum(['authenticator', 'authorizer', 'identities', 'notifications'])).optional(),
  max_duration: duration.optional(),
  /** Absent: requests must name a role. */
  dynamic: dynamicSchema.optional(),
  /** E-mail domains for which this provider's word counts: its verified addresses there are one person with those of other such providers (docs/interface.md, section 16, rule 15). */
  trusted_email_domains: z.array(emailDomain).optional(),
  /** Absent: all, while this is the only provider that people sign in with; else none. */
  groups: groupsSchema.optional(),
  sign_in: signInSchema.optional(),
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
      /** Who may ask for others (docs/interface.md, section 16, rule 14). */
      delegates: z.strictObject(audience).optional(),
    })
    .optional(),
  resources: z.strictObject({ allow: strings, deny: strings }).optional(),
  /** Our own roles by name, a provider's as `<provider>:<role>`. */
  inherits: z.array(z.string().min(1)).default([]),
  authenticators: z.array(name).optional(),
  max_duration: duration.optional(),
  /** How long an approval may wait to be granted; default: the server's. */
  approval_lifetime: duration.optional(),
  default_duration: duration.optional(),
  reason: z.strictObject({ required: z.boolean().default(true), pattern: z.string().optional() }).optional(),
});

export const workflowSchema = z.strictObject({
  name: z.string().min(1).optional(),
  description: z.string().default(''),
  enabled: z.boolean().default(true),
  /** The Serverless Workflow document, checked by packages/workflow. */
  workflow: z.record(z.string(), z.json()),
});

/** A host that workflows may reach, as `host` or `host:port`. At a private address only where that is allowed by name. */
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
  /** How long an approval may wait to be granted before the approvers are asked again. */
  approval_lifetime: duration.optional(),
  /** What one person may have at a time; more is refused until something ends. */
  limits: z
    .strictObject({
      /** Requests that have not ended, and those whose access has not. */
      open_requests: limit(20),
      /** Event streams at one process. */
      event_streams: limit(10),
      /** Events for one request that no task has taken yet. */
      signals: limit(100),
    })
    .prefault({}),
  /** When logins end however much they are used; can only shorten what is built in. */
  login: z.strictObject({ browser: duration.optional(), device: duration.optional() }).optional(),
  /** Hosts that `call: http` may reach, as `host` or `host:port`; none by default. */
  http_hosts: z.array(httpHost).default([]),
});

/** A service that has no settings here; the message says where they are. */
const elsewhere = (message: string) => z.strictObject({}, { error: message }).optional();
const service = z.record(z.string(), z.json()).optional();

/** The services; what each may say is checked when the catalog is compiled, references resolved. */
const servicesSchema = z.strictObject({
  encryption: service,
  llm: service,
  vault: service,
  scheduler: elsewhere('must have no settings here: REDIS_URL is the address of the queue'),
  storage: elsewhere('must have no settings here: DATABASE_URL is the address of the database'),
});

/** Programs that may send events to executions; each with one secret, as a reference. */
const eventSourceSchema = z.strictObject({
  token: z.string().min(1).optional(),
  standard_webhooks: z.strictObject({ secret: z.string().min(1) }).optional(),
});

/** The configuration as a whole (docs/architecture.md, section 11): one document, one version. */
export const catalogSchema = z.strictObject({
  version: z.union([z.string(), z.number()]).optional(),
  server: serverSchema.prefault({}),
  services: servicesSchema.optional(),
  events: z.strictObject({ sources: z.record(name, eventSourceSchema) }).optional(),
  providers: z.record(name, providerSchema).default({}),
  roles: z.record(name, roleSchema).default({}),
  workflows: z.record(name, workflowSchema).default({}),
});

export type CatalogDocument = z.infer<typeof catalogSchema>;
export type DynamicDefinition = z.infer<typeof dynamicSchema>;
export type ProviderDefinition = z.infer<typeof providerSchema>;
export type RoleDefinition = z.infer<typeof roleSchema>;
export type WorkflowDefinition = z.infer<typeof workflowSchema>;
