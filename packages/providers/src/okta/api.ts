import { z } from 'zod';
import { parseAnswer } from '../http/answer.js';
import { type HttpCall, openHttpClient, path } from '../http/client.js';
import { nextByLink, readPages } from '../http/pages.js';
import { tokenCredentials } from '../http/tokens.js';
import { readStatedLimit, waitUntilReset } from '../http/wait.js';
import type { ConnectorTools } from '../port.js';
import { type OktaConfig, scopesOf } from './config.js';
import { fetchToken, MissingScope } from './token.js';

const id = z.string().min(1);
const groupSchema = z.object({
  id,
  type: z.string(),
  profile: z.object({ name: z.string(), description: z.string().nullish() }),
});
const userSchema = z.object({
  id,
  status: z.string(),
  profile: z.object({
    login: z.string().min(1),
    email: z.string().nullish(),
    firstName: z.string().nullish(),
    lastName: z.string().nullish(),
  }),
});
const ruleSchema = z.object({
  actions: z.object({ assignUserToGroups: z.object({ groupIds: z.array(z.string()) }).nullish() }).nullish(),
});
const organizationSchema = z.object({ id });

export type Group = z.infer<typeof groupSchema>;
export type User = z.infer<typeof userSchema>;

/** Okta's management API, as far as the connector needs it. Each call throws `Retryable` or `Terminal`. */
export interface Api {
  /** Returns the organization's identifier, which stays when the organization gets another name or domain. */
  organization(signal: AbortSignal): Promise<string>;
  group(id: string, signal: AbortSignal): Promise<Group | null>;
  user(id: string, signal: AbortSignal): Promise<User | null>;
  /** Yields groups by a `search`, which may lag, or by a `filter`. */
  groups(query: Query, signal: AbortSignal): AsyncGenerator<Group>;
  /** Yields users by a `search`, which may lag, or by a `filter`. */
  users(query: Query, signal: AbortSignal): AsyncGenerator<User>;
  /** Yields the groups that a user is in; nothing when the user does not exist. */
  groupsOf(user: string, signal: AbortSignal): AsyncGenerator<Group>;
  /** Yields the members of a group; nothing when the group does not exist. */
  members(group: string, signal: AbortSignal): AsyncGenerator<User>;
  /** Returns the groups that rules fill, whether the rules are active or not. */
  filledByRules(signal: AbortSignal): Promise<Set<string>>;
  /** Returns whether the members of a group are administrators of Okta. */
  isPrivileged(group: string, signal: AbortSignal): Promise<boolean>;
  addMember(group: string, user: string, signal: AbortSignal): Promise<void>;
  /** Succeeds when the user is not a member. Returns false when Okta shows no such group or user (404). */
  removeMember(group: string, user: string, signal: AbortSignal): Promise<boolean>;
  endSessions(user: string, signal: AbortSignal): Promise<void>;
  /** Returns the required scopes that Okta does not grant to the service app. */
  missingScopes(signal: AbortSignal): Promise<string[]>;
  close(): Promise<void>;
}

interface Query {
  search?: string;
  filter?: string;
}

/** Opens the API of an organization. Calls of one `family` share one of Okta's limits. */
export async function openApi(config: OktaConfig, { now, budget }: ConnectorTools): Promise<Api> {
  // Responses that were not throttled contain the reset time too, so the status decides.
  const waitOf = waitUntilReset({ reset: 'x-rate-limit-reset', statuses: [429] });
  const limitOf = readStatedLimit({
    limit: 'x-rate-limit-limit',
    left: 'x-rate-limit-remaining',
    reset: 'x-rate-limit-reset',
  });
  const shared = { service: 'Okta', url: config.url, now, budget, waitOf, limitOf };
  const open = await openHttpClient(shared);
  const fetch = (scopes: string[], signal: AbortSignal) => fetchToken(config, open, now, scopes, signal);
  const credentials = tokenCredentials({ now, fetch: (signal) => fetch(scopesOf(config), signal) });
  const client = await openHttpClient({ ...shared, credentials });

  async function* readList<T>(call: Omit<HttpCall, 'method'>, schema: z.ZodType<T>, signal: AbortSignal) {
    const first: HttpCall = { ...call, method: 'GET', query: { limit: 200, ...call.query }, accept: [404] };
    const asked = { service: 'Okta', method: 'GET', path: call.path };
    for await (const { status, body } of readPages(client, first, nextByLink, signal)) {
      if (status !== 404) yield* parseAnswer(z.array(schema), body, asked);
    }
  }

  return {
    async organization(signal) {
      const at = '/.well-known/okta-organization';
      return (await open.ask({ method: 'GET', path: at, family: 'organization', schema: organizationSchema }, signal))
        .id;
    },
    group: (group, signal) =>
      client.find({ method: 'GET', path: path`/api/v1/groups/${group}`, family: 'group', schema: groupSchema }, signal),
    user: (user, signal) =>
      client.find({ method: 'GET', path: path`/api/v1/users/${user}`, family: 'user', schema: userSchema }, signal),
    groups: (query, signal) =>
      readList({ path: '/api/v1/groups', query: { ...query }, family: 'groups' }, groupSchema, signal),
    users: (query, signal) =>
      readList({ path: '/api/v1/users', query: { ...query }, family: 'users' }, userSchema, signal),
    groupsOf: (user, signal) =>
      readList({ path: path`/api/v1/users/${user}/groups`, family: 'user' }, groupSchema, signal),
    members: (group, signal) =>
      readList({ path: path`/api/v1/groups/${group}/users`, family: 'members' }, userSchema, signal),
    async filledByRules(signal) {
      const filled = new Set<string>();
      for await (const { actions } of readList({ path: '/api/v1/groups/rules', family: 'rules' }, ruleSchema, signal)) {
        for (const group of actions?.assignUserToGroups?.groupIds ?? []) filled.add(group);
      }
      return filled;
    },
    async isPrivileged(group, signal) {
      const roles = readList({ path: path`/api/v1/groups/${group}/roles`, family: 'group' }, z.unknown(), signal);
      return (await roles.next()).done !== true;
    },
    async addMember(group, user, signal) {
      await client.send({ method: 'PUT', path: path`/api/v1/groups/${group}/users/${user}`, family: 'member' }, signal);
    },
    async removeMember(group, user, signal) {
      const call = { method: 'DELETE', path: path`/api/v1/groups/${group}/users/${user}`, family: 'member' } as const;
      return (await client.send({ ...call, accept: [404] }, signal)).status !== 404;
    },
    async endSessions(user, signal) {
      const at = path`/api/v1/users/${user}/sessions`;
      const query = { oauthTokens: true };
      await client.send({ method: 'DELETE', path: at, query, family: 'sessions', accept: [404] }, signal);
    },
    async missingScopes(signal) {
      const missing: string[] = [];
      for (const scope of scopesOf(config)) {
        await fetch([scope], signal).catch((error: unknown) => {
          if (!(error instanceof MissingScope)) throw error;
          missing.push(scope);
        });
      }
      return missing;
    },
    async close() {
      await Promise.all([open.close(), client.close()]);
    },
  };
}

/** Returns a condition for a search or filter: the property equals the text (`eq`), or begins with it (`sw`). */
export function condition(property: string, operator: 'eq' | 'sw', text: string): string {
  return `${property} ${operator} "${text.replaceAll(/["\\]/g, '\\$&')}"`;
}
