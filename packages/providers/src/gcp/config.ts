import { foldAddress, isSameAddress } from '@belay/contract/address';
import { z } from 'zod';
import { emailDomain, endpoint } from '../endpoint.js';

const kinds = ['service_account', 'external_account', 'impersonated_service_account', 'authorized_user'];

const credentials = z
  .string()
  .max(16_384)
  .superRefine((text, context) => {
    const parsed = readJson(text);
    const reject = (message: string) => context.addIssue({ code: 'custom', message });
    if (!parsed || !kinds.includes(String(parsed.type))) {
      reject(`is not the JSON of a credentials file of type ${kinds.join(', ')}`);
    } else if (JSON.stringify(parsed).includes('"executable":')) {
      reject('must not name an executable, because the configuration would run a program; use a file or a URL');
    }
  });

const group = z
  .string()
  .refine((text) => foldAddress(text) === text, 'is not the e-mail address of a group in lower case');

const people = z.record(
  z
    .string()
    .refine((text) => foldAddress(text) !== undefined, 'is not an e-mail address, for example rita@example.com'),
  z.string().refine((text) => foldAddress(text) !== undefined, 'is not the e-mail address of a Google account'),
);

/** The configuration of a provider of type `gcp`. */
export const gcpConfig = z
  .strictObject({
    /** The content of a credentials file, as JSON; when absent, the application default credentials. */
    credentials: credentials.optional(),
    /** The projects in whose policies access is granted, by their ids. */
    projects: z
      .array(z.string().regex(/^([a-z0-9.-]+:)?[a-z][a-z0-9-]{0,28}[a-z0-9]$/, 'is not the id of a project'))
      .default([]),
    /** The groups that people are made members of. */
    groups: z.array(group).default([]),
    /** The groups among `groups` to which only Belay adds members. */
    exclusive: z.array(group).default([]),
    /** Whether the edition has memberships that expire. */
    group_expiry: z.boolean().default(false),
    /** Google accounts by e-mail address, where the two differ. */
    users: people.default({}),
    /** The domains whose addresses are Google accounts; when absent, all are. */
    email_domains: z.array(emailDomain).min(1).optional(),
    /** Permits roles whose holder can give themselves more access, act as another account, or keep the access. */
    allow_privileged_roles: z.boolean().default(false),
    /** The addresses of Google's APIs, where a private endpoint has another one. */
    endpoints: z
      .strictObject({
        resource_manager: endpoint.default('https://cloudresourcemanager.googleapis.com'),
        iam: endpoint.default('https://iam.googleapis.com'),
        cloud_identity: endpoint.default('https://cloudidentity.googleapis.com'),
        directory: endpoint.default('https://admin.googleapis.com'),
      })
      .prefault({}),
  })
  .refine(({ projects, groups }) => projects.length + groups.length > 0, {
    path: ['projects'],
    message: 'must name at least one project, or groups at least one group',
  })
  .refine(({ groups, exclusive }) => exclusive.every((one) => groups.some((each) => isSameAddress(one, each))), {
    path: ['exclusive'],
    message: 'must only name groups that are in groups as well',
  });

export type GcpConfig = z.infer<typeof gcpConfig>;

function readJson(text: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
