import { createHash, randomUUID } from 'node:crypto';
import { type Front, startFront } from '@belay/targets';
import { entraConnector, type ProviderClient } from '../../src/index.js';
import { type ByNames, byNames, type NamedEntitlement } from '../../src/testkit/index.js';
import { type Answer, type Asked, type FakeServer, startFakeServer } from '../support/fake-server.js';
import { answerAzure } from './azure.js';
import { answerGraph } from './graph.js';
import { createTimeline } from './timeline.js';
import { type Account, type Group, isHeld, type PlaceName, refusal, type World } from './world.js';

export const tenantId = '11111111-2222-4333-8444-555555555555';
export const clientId = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
export const subscription = '/subscriptions/99999999-8888-4777-8666-555555555555';
export const scope = `${subscription}/resourceGroups/shop`;

type Fresh = NamedEntitlement & { userId: string; what: string };

export interface Tenant extends World, AsyncDisposable {
  server: FakeServer;
  clock: { now: number };
  secret: string;
  /** The error of every token request; when absent, the credentials decide. */
  rejection?: { error: string; error_codes: number[] } | undefined;
  /** The forms of the token requests, for tests of certificates. */
  forms: URLSearchParams[];
  endTokens(): void;
  user(given?: Partial<Account>): Account;
  group(given?: Partial<Group>): Group;
  directoryRole(name?: string, actions?: string[]): string;
  azureRole(name?: string, actions?: string[], notActions?: string[]): string;
  /** Returns an entitlement that can be granted, of a new person. */
  fresh(place: PlaceName): Promise<Fresh>;
  held(place: PlaceName, one: { userId: string; what: string }): boolean;
  client(config?: Record<string, unknown>, url?: string): Promise<ProviderClient>;
  authorizer(config?: Record<string, unknown>, url?: string): Promise<ByNames>;
  front(): Promise<Front>;
}

const azureRights = ['roleDefinitions/read', 'roleAssignments/read', 'roleAssignments/write', 'roleAssignments/delete'];

function createWorld(now: () => number): World {
  return {
    url: '',
    now,
    lag: 0,
    users: new Map(),
    groups: new Map(),
    directoryRoles: new Map(),
    azureRoles: new Map(),
    scopes: new Set([subscription.toLowerCase(), scope.toLowerCase()]),
    members: createTimeline(),
    directoryAssignments: createTimeline(),
    azureAssignments: new Map(),
    schedules: [],
    requests: [],
    licensed: true,
    longest: Number.POSITIVE_INFINITY,
    keepsFiveMinutes: false,
    putOff: new Set(),
    permissions: new Set([
      'User.Read.All',
      'GroupMember.ReadWrite.All',
      'PrivilegedAssignmentSchedule.ReadWrite.AzureADGroup',
      'RoleAssignmentSchedule.ReadWrite.Directory',
      'RoleManagement.ReadWrite.Directory',
    ]),
    azureActions: new Set(
      [...azureRights, 'roleAssignmentScheduleRequests/write'].map((one) => `Microsoft.Authorization/${one}`),
    ),
  };
}

/** Starts a fake of a tenant of Entra and its subscription, with a clock of its own. */
export async function startTenant(): Promise<Tenant> {
  const clock = { now: Date.parse('2026-11-22T12:00:00Z') };
  const clients: ProviderClient[] = [];
  const tokens = new Map<string, number>();
  let made = 0;
  const server = await startFakeServer({
    forbidden: refusal(403, 'Authorization_RequestDenied'),
    identity: (asked) => (asked.path.includes('/oauth2/') ? issueToken(asked) : undefined),
    answer: (asked) => ({ ...answer(asked), headers: { date: new Date(clock.now).toUTCString() } }),
  });

  const tenant: Tenant = {
    ...createWorld(() => clock.now),
    url: server.url,
    server,
    clock,
    secret: 'the-secret-of-the-app',
    forms: [],
    endTokens: () => tokens.clear(),
    user(given = {}) {
      made += 1;
      const name = given.userPrincipalName ?? `person-${made}@example.com`;
      const user: Account = {
        id: randomUUID(),
        userPrincipalName: name,
        displayName: `Rita Roe ${made}`,
        mail: name,
        accountEnabled: true,
        userType: 'Member',
        ...given,
      };
      tenant.users.set(user.id, user);
      return user;
    },
    group(given = {}) {
      made += 1;
      const group: Group = {
        id: randomUUID(),
        displayName: `Shop Operators ${made}`,
        groupTypes: [],
        securityEnabled: true,
        mailEnabled: false,
        membershipRule: null,
        onPremisesSyncEnabled: null,
        isAssignableToRole: null,
        visibility: null,
        ...given,
      };
      tenant.groups.set(group.id, group);
      return group;
    },
    directoryRole(displayName, actions = ['microsoft.directory/auditLogs/allProperties/read']) {
      made += 1;
      const name = displayName ?? `Reports Reader ${made}`;
      const rolePermissions = [{ allowedResourceActions: actions }];
      const id = randomUUID();
      tenant.directoryRoles.set(id, { id, displayName: name, isEnabled: true, rolePermissions });
      return name;
    },
    azureRole(roleName, actions = ['*/read'], notActions = []) {
      made += 1;
      const name = roleName ?? `Reader ${made}`;
      const id = randomUUID();
      tenant.azureRoles.set(id, { id, roleName: name, actions, notActions });
      return name;
    },
    async fresh(place): Promise<Fresh> {
      const { id: userId, userPrincipalName: identity } = tenant.user();
      const shared = { id: `entitlement-${made}`, identity, userId };
      if (place === 'group') {
        const group = tenant.group();
        return { ...shared, access: { group: group.displayName }, what: group.id };
      }
      if (place === 'directory') {
        const name = tenant.directoryRole();
        return { ...shared, access: { directory_role: name }, what: [...tenant.directoryRoles.keys()].at(-1) ?? '' };
      }
      const name = tenant.azureRole();
      return { ...shared, access: { azure_role: name, scope }, what: [...tenant.azureRoles.keys()].at(-1) ?? '' };
    },
    held(place, { userId: user, what }) {
      const where = { group: '', directory: '/', azure: scope }[place];
      return tenant.users.has(user) && isHeld(tenant, { place, what, user, scope: where });
    },
    async client(config = {}, url = server.url) {
      const parsed = entraConnector.config.parse({
        tenant: tenantId,
        client_id: clientId,
        ...('certificate' in config ? {} : { client_secret: tenant.secret }),
        scopes: [subscription],
        directory_roles: ['Reports Reader'],
        endpoints: { login: url, graph: url, resource_manager: url },
        ...config,
      });
      const client = await entraConnector.create(parsed, { now: () => clock.now, log: () => {} });
      clients.push(client);
      return client;
    },
    async authorizer(config, url) {
      const { authorizer } = await tenant.client(config, url);
      if (!authorizer) throw new Error('no authorizer');
      return byNames(authorizer);
    },
    front: () => startFront({ to: server.url, now: () => clock.now, inProcess: true }),
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
  return tenant;

  function issueToken({ path, body }: Asked): Answer {
    const form = new URLSearchParams(body);
    tenant.forms.push(form);
    const reject = (error: string, code: number, status = 401): Answer => ({
      status,
      body: { error, error_codes: [code], error_description: `AADSTS${code}: no. Trace ID: ${randomUUID()}` },
    });
    if (tenant.rejection) return { status: 401, body: tenant.rejection };
    if (!path.startsWith(`/${tenantId}/`)) return reject('invalid_request', 90002, 400);
    if (form.get('client_id') !== clientId) return reject('unauthorized_client', 700016, 400);
    const proven = form.has('client_assertion') || form.get('client_secret') === tenant.secret;
    if (!proven) return reject('invalid_client', 7000215);
    const payload = Buffer.from(JSON.stringify({ roles: [...tenant.permissions], n: tenant.forms.length })).toString(
      'base64url',
    );
    const token = `eyJhbGciOiJub25lIn0.${payload}.${createHash('sha256').update(payload).digest('base64url')}`;
    tokens.set(token, clock.now + 3_600_000);
    return { status: 200, body: { token_type: 'Bearer', expires_in: 3600, access_token: token } };
  }

  function answer({ method, path, headers, body }: Asked): Answer {
    const token = headers.authorization?.replace(/^Bearer /, '') ?? '';
    if ((tokens.get(token) ?? 0) <= clock.now) {
      return refusal(401, 'InvalidAuthenticationToken', 'Lifetime validation failed, the token is expired.');
    }
    const parsed = body === '' ? {} : (JSON.parse(body) as Record<string, unknown>);
    const request = { method, url: new URL(path, server.url), headers, body: parsed };
    return answerGraph(request, tenant) ?? answerAzure(request, tenant) ?? refusal(404, 'NotFound');
  }
}
