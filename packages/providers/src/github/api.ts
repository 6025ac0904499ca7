import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { z } from 'zod';
import { Retryable, Terminal } from '../errors.js';
import { type HttpAnswer, HttpFault, parseAnswer } from '../http/answer.js';
import { type HttpClient, openHttpClient, path } from '../http/client.js';
import { nextByLink, readPages } from '../http/pages.js';
import { tokenCredentials } from '../http/tokens.js';
import { readStatedLimit, waitUntilReset } from '../http/wait.js';
import type { ConnectorTools } from '../port.js';
import type { GithubConfig } from './config.js';

const installationSchema = z.object({
  account: z.object({ id: z.int() }),
  target_type: z.string(),
  suspended_at: z.string().nullish(),
  permissions: z.record(z.string(), z.string()),
  repository_selection: z.string().nullish(),
});
export type Installation = z.infer<typeof installationSchema>;

const tokenSchema = z.object({ token: z.string().min(1), expires_at: z.iso.datetime() });
const organizationSchema = z.object({ id: z.int(), created_at: z.string().min(1) });

/** An organization of an instance of GitHub, with identifiers that do not change. */
export interface Organization {
  id: number;
  /** Its path in the API, which contains its number because its name can change. */
  at: string;
  fingerprint: string;
}

/** GitHub's REST API, called as the App's installation in one organization. */
export interface Api extends Pick<HttpClient, 'send' | 'ask' | 'find'> {
  /** Returns the organization that the App is installed in. Read again with each new token, which is valid at one instance only. */
  organization(signal: AbortSignal): Promise<Organization>;
  /** Reads the installation. Throws `Terminal` when it does not exist, is suspended, or is not in an organization. */
  installation(signal: AbortSignal): Promise<Installation>;
  /**
   * Throws `Terminal` unless the App has the permission now. GitHub also returns 404 for what the App may not see, so a 404 shows
   * only with this permission that an object does not exist.
   */
  confirmSight(permission: 'members' | 'organization_custom_org_roles', signal: AbortSignal): Promise<void>;
  /** Returns the items of all pages of a list, or null when the list does not exist. */
  list<T>(at: string, schema: z.ZodType<T>, signal: AbortSignal): Promise<T[] | null>;
  close(): Promise<void>;
}

const headers = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' };
/** The pause that GitHub requires after a secondary limit that states no other pause. */
const restMilliseconds = 60_000;
/** GitHub accepts a lifetime of ten minutes at most. The token is issued earlier than now in case the clocks differ. */
const lifetimeSeconds = 8 * 60;
const earlierSeconds = 60;

const messageSchema = z.object({ message: z.string() });

/** Opens GitHub's API with the App's credentials. */
export async function openApi(config: GithubConfig, { now, budget }: ConnectorTools): Promise<Api> {
  const key = createPrivateKey(config.private_key);
  const untilReset = waitUntilReset({
    reset: 'x-ratelimit-reset',
    left: 'x-ratelimit-remaining',
    statuses: [403, 429],
  });
  const common = {
    service: 'GitHub',
    url: config.url,
    now,
    headers,
    budget,
    waitOf: (answer: HttpAnswer, at: number) => untilReset(answer, at) ?? waitOfSecondaryLimit(answer),
    limitOf: readStatedLimit({
      limit: 'x-ratelimit-limit',
      left: 'x-ratelimit-remaining',
      reset: 'x-ratelimit-reset',
    }),
  };

  async function signAppToken() {
    const issuedAt = Math.floor(now() / 1000) - earlierSeconds;
    const token = await new SignJWT({})
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
      .setIssuer(config.app_id)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + lifetimeSeconds)
      .sign(key);
    return { token, expiresInMilliseconds: (lifetimeSeconds - earlierSeconds) * 1000 };
  }

  // GitHub counts the calls of the App and those of its installation separately.
  const credentialsOfApp = tokenCredentials({ now, fetch: signAppToken });
  const app = await openHttpClient({ ...common, family: 'app', credentials: credentialsOfApp });
  const installationPath = path`/app/installations/${config.installation_id}`;

  async function fetchInstallationToken(signal: AbortSignal) {
    const call = { method: 'POST' as const, path: `${installationPath}/access_tokens`, accept: [404] };
    const answer = await app.send(call, signal);
    if (answer.status === 404) throw new Terminal('The GitHub App has no installation with this installation_id');
    const { token, expires_at } = parseAnswer(tokenSchema, answer.body, { service: 'GitHub', ...call });
    // The lifetime is calculated by GitHub's clock, because the local clock may differ.
    const date = Date.parse(answer.headers.date ?? '');
    return { token, expiresInMilliseconds: Date.parse(expires_at) - (Number.isNaN(date) ? now() : date) };
  }

  const credentials = tokenCredentials({ now, fetch: fetchInstallationToken });
  const client = await openHttpClient({ ...common, credentials });
  let known: { token: string; organization: Organization } | undefined;

  async function installation(signal: AbortSignal): Promise<Installation> {
    const found = await app.find({ method: 'GET', path: installationPath, schema: installationSchema }, signal);
    if (!found) throw new Terminal('The GitHub App has no installation with this installation_id');
    if (found.target_type !== 'Organization') throw new Terminal('The GitHub App is not installed in an organization');
    if (found.suspended_at) throw new Terminal("The GitHub App's installation is suspended");
    return found;
  }

  return {
    send: client.send,
    ask: client.ask,
    find: client.find,
    installation,

    async organization(signal) {
      const token = await credentials.authorize(signal);
      if (known?.token === token) return known.organization;
      const { account } = await installation(signal);
      const at = path`/organizations/${account.id}`;
      const { id, created_at } = await client.ask({ method: 'GET', path: at, schema: organizationSchema }, signal);
      // The time of creation is included because numbers are unique in one instance of GitHub only.
      const organization = { id, at, fingerprint: `organization ${id}, created ${created_at}` };
      known = { token, organization };
      return organization;
    },

    async confirmSight(permission, signal) {
      const { permissions } = await installation(signal);
      if (permissions[permission] === undefined)
        throw new Terminal(`The GitHub App lacks the permission ${permission}`);
    },

    async list(at, schema, signal) {
      const first = { method: 'GET' as const, path: at, query: { per_page: 100 }, accept: [404] };
      const items = [];
      for await (const answer of readPages(client, first, nextByLink, signal)) {
        if (answer.status === 404) return null;
        items.push(...parseAnswer(z.array(schema), answer.body, { service: 'GitHub', ...first }));
      }
      return items;
    },

    async close() {
      await Promise.all([app.close(), client.close()]);
    },
  };
}

/** Returns the pause after a secondary limit: a 403 or 429 that differs from others only in its text. */
function waitOfSecondaryLimit({ status, body }: HttpAnswer): number | undefined {
  if (status !== 403 && status !== 429) return undefined;
  const said = messageSchema.safeParse(body);
  return said.success && /secondary rate limit|abuse detection/i.test(said.data.message) ? restMilliseconds : undefined;
}

/** Returns the error for an account that got another login between two calls. */
export function renamed(at: string): Retryable {
  return new Retryable('The GitHub account got another login at the same time', {
    cause: new HttpFault('the login changed between two calls', { method: 'GET', path: at }),
  });
}
