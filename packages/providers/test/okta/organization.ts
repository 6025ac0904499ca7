import { type Front, type OktaOptions, startFront, startOkta } from '@belay/targets';
import { oktaConnector, type ProviderClient } from '../../src/index.js';

/** Returns an organization at Okta, with groups and users as tests need them. */
export async function openOrganization({ now = Date.now, crowds = [] }: Partial<OktaOptions> = {}) {
  const target = await startOkta({ now, crowds });
  const clients: ProviderClient[] = [];
  let made = 0;
  const admin = async (method: string, path: string, body?: unknown) => {
    const answer = await target.call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as { id: string };
  };
  const organization = {
    ...target,
    admin,
    async group(name?: string, type = 'OKTA_GROUP'): Promise<{ id: string; name: string }> {
      made += 1;
      const own = name ?? `Shop production ${made}`;
      return { id: (await admin('POST', '/api/v1/groups', { profile: { name: own }, type })).id, name: own };
    },
    async user(login?: string, email?: string): Promise<{ id: string; login: string }> {
      made += 1;
      const own = login ?? `person-${made}@example.test`;
      const profile = { login: own, email: email ?? own, firstName: 'Rita', lastName: `Roe ${made}` };
      return { id: (await admin('POST', '/api/v1/users', { profile })).id, login: own };
    },
    /** Returns an entitlement that can be granted, with a new user, and with a new group unless one is given. */
    async fresh(existing?: { id: string; name: string }) {
      const [group, user] = [existing ?? (await organization.group()), await organization.user()];
      const identity = { identity: user.login, access: { group: group.name } };
      return { id: `entitlement-${made}`, ...identity, groupId: group.id, userId: user.id };
    },
    /** Returns the members of a group at Okta. */
    async members(group: string): Promise<string[]> {
      const found = (await admin('GET', `/api/v1/groups/${group}/users`)) as unknown as { id: string }[];
      return found.map(({ id }) => id);
    },
    /** Returns a client of the connector, for the organization or for a front before it. */
    async client(config: Record<string, unknown> = {}): Promise<ProviderClient> {
      const { clientId, privateKey } = target.app;
      const given = { url: target.url, client_id: clientId, private_key: privateKey, ...config };
      const client = await oktaConnector.create(oktaConnector.config.parse(given), { now, log: () => {} });
      clients.push(client);
      return client;
    },
    front: (): Promise<Front> => startFront({ to: target.url, now, inProcess: true }),
    async close() {
      for (const client of clients) await client.close();
      await target[Symbol.asyncDispose]();
    },
  };
  return organization;
}
