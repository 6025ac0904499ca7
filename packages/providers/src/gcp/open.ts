import { GoogleAuth } from 'google-auth-library';
import { z } from 'zod';
import { untilAborted } from '../abort.js';
import { Retryable, Terminal } from '../errors.js';
import { type HttpAnswer, HttpFault } from '../http/answer.js';
import { openHttpClient, path } from '../http/client.js';
import { tokenCredentials } from '../http/tokens.js';
import type { ConnectorTools, ProviderClient, Weakness } from '../port.js';
import { within } from '../within.js';
import { createAuthorizer } from './authorizer.js';
import type { GcpConfig } from './config.js';
import { createIdentities } from './identities.js';
import type { GoogleClients } from './kind.js';

const scopes = [
  'https://www.googleapis.com/auth/cloud-platform',
  'https://www.googleapis.com/auth/cloud-identity.groups',
  'https://www.googleapis.com/auth/admin.directory.user.readonly',
  'https://www.googleapis.com/auth/admin.directory.group.readonly',
];
const needed = [
  'resourcemanager.projects.get',
  'resourcemanager.projects.getIamPolicy',
  'resourcemanager.projects.setIamPolicy',
];
const tooMuch = ['resourcemanager.projects.delete', 'iam.serviceAccountKeys.create', 'iam.serviceAccounts.actAs'];
const permissionsSchema = z.object({ permissions: z.array(z.string()).optional() });

/** Opens the clients of Google's APIs, which share one token. */
export async function openGcp(config: GcpConfig, tools: ConnectorTools): Promise<ProviderClient> {
  const { endpoints } = config;
  const credentials = tokenCredentials({ now: tools.now, fetch: (signal) => fetchToken(config, signal) });
  const open = (service: string, url: string) =>
    openHttpClient({
      service,
      url,
      now: tools.now,
      budget: tools.budget,
      family: service,
      credentials,
      explain: explainGoogle,
    });
  const clients: GoogleClients = {
    policies: await open('Google Cloud', endpoints.resource_manager),
    iam: await open('Google Cloud IAM', endpoints.iam),
    groups: await open('Google Groups', endpoints.cloud_identity),
    directory: await open('The Google directory', endpoints.directory),
  };
  return {
    authorizer: createAuthorizer(config, clients, tools.now),
    identities: createIdentities(config),
    check: (signal) => check(config, clients, signal),
    weaknesses: (signal) => findWeaknesses(config, clients, signal),
    async close() {
      await Promise.all(Object.values(clients).map((client) => client.close()));
    },
  };
}

/** Fetches each token with a new client of the library, because a client keeps its token by the machine's clock. */
async function fetchToken({ credentials }: GcpConfig, signal: AbortSignal) {
  const auth = new GoogleAuth({
    scopes,
    ...(credentials === undefined ? {} : { credentials: JSON.parse(credentials) as Record<string, string> }),
  });
  const limited = within(signal, 10_000);
  // Errors of the library can contain the request and its signature, so they are not kept as the cause.
  const token = await untilAborted(auth.getAccessToken(), limited).catch((error: unknown) => {
    if (error instanceof Retryable) throw error;
    throw explainRefusal(error);
  });
  if (token) return { token };
  throw new Terminal("Google issued no token for the connector's credentials");
}

function explainRefusal(error: unknown): Retryable | Terminal {
  const { response, code } = error as { response?: { status?: unknown }; code?: unknown };
  const status = typeof response?.status === 'number' ? response.status : undefined;
  const detail = { method: 'POST', path: '/token', ...(status === undefined ? {} : { status }) };
  const cause = new HttpFault('no token', { ...detail, ...(typeof code === 'string' ? { code } : {}) });
  if (status !== undefined && status >= 400 && status < 500 && status !== 429 && status !== 408) {
    return new Terminal("Google does not accept the connector's credentials", { cause });
  }
  return new Retryable('Google issued no token', { cause });
}

async function findPermitted(project: string, permissions: string[], { policies }: GoogleClients, signal: AbortSignal) {
  const at = path`/v3/projects/${project}:testIamPermissions`;
  const call = { method: 'POST' as const, path: at, json: { permissions }, schema: permissionsSchema };
  return (await policies.ask(call, signal)).permissions ?? [];
}

/** Throws a `Terminal` that names the permissions that the credentials lack. */
async function check(config: GcpConfig, clients: GoogleClients, signal: AbortSignal): Promise<void> {
  const missing: string[] = [];
  for (const project of config.projects) {
    const permitted = await findPermitted(project, needed, clients, signal);
    const lacking = needed.filter((one) => !permitted.includes(one));
    if (lacking.length > 0) missing.push(`${lacking.join(', ')} on projects/${project}`);
  }
  for (const group of config.groups) {
    const query = { 'groupKey.id': group };
    const call = { method: 'GET' as const, path: '/v1/groups:lookup', query, accept: [403, 404] };
    if ((await clients.groups.send(call, signal)).status >= 400) missing.push(`reading group/${group}`);
    const at = path`/admin/directory/v1/groups/${group}`;
    const answer = await clients.directory.send({ method: 'GET', path: at, accept: [403, 404] }, signal);
    if (answer.status === 403) missing.push('admin.directory.group.readonly and admin.directory.user.readonly');
  }
  if (missing.length === 0) return;
  throw new Terminal(`Google Cloud does not permit the connector: ${[...new Set(missing)].join('; ')}`);
}

async function findWeaknesses(config: GcpConfig, clients: GoogleClients, signal: AbortSignal): Promise<Weakness[]> {
  const found: Weakness[] = [];
  for (const project of config.projects) {
    const permitted = await findPermitted(project, tooMuch, clients, signal);
    if (permitted.length === 0) continue;
    found.push({
      message: `The connector has ${permitted.join(', ')} on projects/${project}, which it does not need`,
      cure: 'Give it the custom role of docs/connectors/gcp.md, with the condition on the roles that it may grant',
    });
  }
  if (config.groups.length > 0 && !config.group_expiry) {
    found.push({
      message: 'Memberships of groups do not expire at Google by themselves: while Belay is stopped, they do not end',
      cure: 'Set group_expiry: true where the edition has it (Cloud Identity Premium, Enterprise Standard or Plus)',
    });
  }
  return found;
}

const quota = z.object({
  error: z.object({ errors: z.array(z.object({ reason: z.string() })) }),
});
const reasons = ['rateLimitExceeded', 'userRateLimitExceeded', 'quotaExceeded', 'servingLimitExceeded'];

/** Returns `Retryable` for an exhausted quota, which the Directory API reports with 403; undefined for other responses. */
function explainGoogle({ status, body }: HttpAnswer): Retryable | undefined {
  const parsed = status === 403 ? quota.safeParse(body) : undefined;
  const throttled = parsed?.data?.error.errors.some(({ reason }) => reasons.includes(reason));
  return throttled ? new Retryable('Google is handling too many requests') : undefined;
}
