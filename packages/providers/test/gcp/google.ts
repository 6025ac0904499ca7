import { type Front, startFront } from '@belay/targets';
import { gcpConnector, type ProviderClient } from '../../src/index.js';
import { type ByNames, byNames } from '../../src/testkit/index.js';
import { type Answer, type Asked, type FakeServer, startFakeServer } from '../support/fake-server.js';
import { exchangeToken, googleCredentials } from '../support/google-server.js';
import { answerDirectory, answerGroups, createGroup, type Group, type GroupWorld } from './groups.js';
import {
  createProject,
  type PolicyWorld,
  type Project,
  readPolicy,
  refusal,
  replacePolicy,
  testPermission,
} from './policies.js';

type World = PolicyWorld & GroupWorld;

export interface Google extends World, AsyncDisposable {
  server: FakeServer;
  clock: { now: number };
  shop: Project;
  oncall: Group;
  /** The permissions of the connector's account; by default those of the guide. */
  permissions: Set<string>;
  /** The token that is accepted and issued; a test can change it. */
  token: string;
  /** Makes a role with a new permission, and with the given ones. */
  role(permissions?: string[]): string;
  user(email?: string): string;
  /** Renames an account: policies and memberships follow it. */
  rename(from: string, to: string): void;
  deleteUser(email: string): void;
  group(kind?: 'dynamic' | 'locked'): Group;
  can(email: string, role: string): boolean;
  client(config?: Record<string, unknown>, url?: string): Promise<ProviderClient>;
  authorizer(config?: Record<string, unknown>, url?: string): Promise<ByNames>;
  front(): Promise<Front>;
}

const guide = ['get', 'getIamPolicy', 'setIamPolicy'].map((verb) => `resourcemanager.projects.${verb}`);

/** Starts a fake of Google's policies, roles, groups and directory, with a clock of its own. */
export async function startGoogle(): Promise<Google> {
  const clock = { now: Date.parse('2026-11-22T12:00:00Z') };
  const clients: ProviderClient[] = [];
  let made = 0;
  const shop = createProject('shop', '123456789012');
  const oncall = createGroup('03oncall', 'oncall@example.com');
  const server = await startFakeServer({
    forbidden: refusal(403, 'PERMISSION_DENIED'),
    identity: (asked) => exchangeToken(asked, google.token),
    answer: (asked) => withDate(answer(asked)),
  });

  const google: Google = {
    server,
    clock,
    now: () => clock.now,
    shop,
    oncall,
    users: [],
    groups: [oncall],
    ends: true,
    permissions: new Set(guide),
    token: 'ya29.first-token',
    roles: new Map(['owner', 'editor', 'viewer'].map((name) => [`roles/${name}`, ['everything.get']])),
    role(permissions) {
      made += 1;
      const name = `roles/test.reader${made}`;
      google.roles.set(name, [`test.things${made}.get`, ...(permissions ?? [])]);
      return name;
    },
    user(email) {
      made += 1;
      const made_ = {
        id: String(100_000_000_000_000_000_000n + BigInt(made)),
        email: email ?? `person-${made}@example.com`,
      };
      google.users.push({ ...made_, deleted: false });
      return made_.email;
    },
    rename(from, to) {
      for (const user of google.users) if (user.email === from) user.email = to;
      replaceMember(`user:${from}`, `user:${to}`);
    },
    deleteUser(email) {
      for (const user of google.users.filter((one) => one.email === email)) {
        user.deleted = true;
        replaceMember(`user:${email}`, `deleted:user:${email}?uid=${user.id}`);
        for (const group of google.groups) group.members.delete(user.id);
      }
    },
    group(kind) {
      made += 1;
      const group = createGroup(`03group${made}`, `group-${made}@example.com`, kind);
      google.groups.push(group);
      return group;
    },
    can: (email, role) => testPermission(shop, email, google.roles.get(role)?.[0] ?? '', google),
    async client(config = {}, url = server.url) {
      const parsed = gcpConnector.config.parse({
        credentials: googleCredentials(server),
        projects: ['shop'],
        groups: ['oncall@example.com'],
        group_expiry: true,
        endpoints: { resource_manager: url, iam: url, cloud_identity: url, directory: url },
        ...config,
      });
      const client = await gcpConnector.create(parsed, { now: google.now, log: () => {} });
      clients.push(client);
      return client;
    },
    async authorizer(config, url) {
      const { authorizer } = await google.client(config, url);
      if (!authorizer) throw new Error('no authorizer');
      return byNames(authorizer);
    },
    front: () => startFront({ to: server.url, now: google.now, inProcess: true }),
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
  return google;

  function replaceMember(from: string, to: string): void {
    for (const binding of shop.bindings)
      binding.members = binding.members?.map((one) => (one === from ? to : one)) ?? [];
  }

  function withDate(given: Answer): Answer {
    return { ...given, headers: { ...given.headers, date: new Date(clock.now).toUTCString() } };
  }

  function answer({ method, path, headers, body }: Asked): Answer {
    if (headers.authorization !== `Bearer ${google.token}`) return refusal(401, 'UNAUTHENTICATED');
    const url = new URL(path, server.url);
    const request = { method, url, body: body === '' ? undefined : (JSON.parse(body) as unknown) };
    return (
      answerPolicies(request) ??
      answerRoles(request) ??
      answerGroups(request, google) ??
      answerDirectory(request, google) ??
      refusal(404, 'NOT_FOUND')
    );
  }

  function answerPolicies({ url, body }: { url: URL; body: unknown }): Answer | undefined {
    const [, id = '', verb = 'get'] = /^\/v3\/projects\/([^/:]+)(?::(\w+))?$/.exec(url.pathname) ?? [];
    if (id === '') return undefined;
    const isShop = id === shop.id || id === shop.number;
    if (verb === 'testIamPermissions') {
      const { permissions } = body as { permissions: string[] };
      const permitted = permissions.filter((one) => isShop && google.permissions.has(one));
      return { status: 200, body: permitted.length > 0 ? { permissions: permitted } : {} };
    }
    // Google returns the same for a project that does not exist and for one that the caller may not see.
    if (!isShop || !google.permissions.has(`resourcemanager.projects.${verb}`))
      return refusal(403, 'PERMISSION_DENIED');
    if (verb === 'getIamPolicy') {
      const { options } = body as { options?: { requestedPolicyVersion?: number } };
      return readPolicy(shop, options?.requestedPolicyVersion);
    }
    if (verb === 'setIamPolicy') return replacePolicy(shop, body as Parameters<typeof replacePolicy>[1], google);
    return { status: 200, body: { name: `projects/${shop.number}`, projectId: shop.id, state: shop.state } };
  }

  function answerRoles({ url }: { url: URL }): Answer | undefined {
    const name = /^\/v1\/((?:projects\/[^/]+\/)?roles\/.*)$/.exec(url.pathname)?.[1];
    if (name === undefined) return undefined;
    const includedPermissions = google.roles.get(name);
    return includedPermissions ? { status: 200, body: { name, includedPermissions } } : refusal(404, 'NOT_FOUND');
  }
}
