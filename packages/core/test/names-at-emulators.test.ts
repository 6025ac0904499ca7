import { type Connector, entraConnector, gcpConnector, githubConnector, oktaConnector } from '@belay/providers';
import { clientId, startTenant, tenantId } from '../../providers/test/entra/tenant.js';
import { startGoogle } from '../../providers/test/gcp/google.js';
import { openOrganization as openGithub } from '../../providers/test/github/github.js';
import { openOrganization as openOkta } from '../../providers/test/okta/organization.js';
import { googleCredentials } from '../../providers/test/support/google-server.js';
import { namesAt } from './support/names-at.js';

const ada = 'ada@example.com';

for (const kind of ['team', 'repo-role', 'org-role'] as const) {
  namesAt(`GitHub, by ${kind}`, async () => {
    const organization = await openGithub();
    const { github, admin } = organization;
    const { login, id } = await organization.person();
    const { app, url } = github;
    const config = {
      ...{ url, app_id: app.id, installation_id: app.installation, private_key: app.privateKey },
      identity: { table: { [ada]: String(id) } },
    };
    const names = { login, team: 'oncall', repository: 'shop' };
    const logins = [login];
    const roles = () => ({
      team: { inherits: [`target:team/${names.team}`] },
      'repo-role': { inherits: ['target:repo-role/write'], resources: { allow: [`acme/${names.repository}`] } },
      'org-role': { inherits: ['target:org-role/all_repo_read'] },
    });
    return {
      connector: githubConnector as Connector,
      provider: { provider: 'github', config },
      role: roles()[kind],
      holds: async () =>
        (await organization.held()).some((line) => logins.some((one) => line.split(' ').includes(one))),
      async rename() {
        github.world.renameUser(names.login, `${names.login}-r`);
        github.world.renameTeam('oncall', `${names.team}-r`);
        await admin('PATCH', `/repos/acme/${names.repository}`, { name: `${names.repository}-r` });
        names.login += '-r';
        logins.push(names.login);
        names.team += '-r';
        names.repository += '-r';
        return { role: roles()[kind] };
      },
      [Symbol.asyncDispose]: () => organization.close(),
    };
  });
}

namesAt('Okta', async () => {
  const organization = await openOkta();
  const [group, user] = [await organization.group(), await organization.user()];
  const { clientId: client_id, privateKey: private_key } = organization.app;
  const providerOf = (login: string) => ({
    provider: 'okta',
    config: { url: organization.url, client_id, private_key, identity: { table: { [ada]: login } } },
  });
  let made = 0;
  return {
    connector: oktaConnector as Connector,
    provider: providerOf(user.login),
    role: { inherits: [`target:group/${group.name}`] },
    holds: async () => (await organization.members(group.id)).includes(user.id),
    async rename() {
      made += 1;
      const [login, name] = [`renamed-${made}@example.test`, `Renamed ${made}`];
      await organization.admin('POST', `/api/v1/users/${user.id}`, { profile: { login, email: login } });
      await organization.admin('PUT', `/api/v1/groups/${group.id}`, { profile: { name } });
      return { provider: providerOf(login), role: { inherits: [`target:group/${name}`] } };
    },
    [Symbol.asyncDispose]: () => organization.close(),
  };
});

namesAt('Google Cloud', async () => {
  const google = await startGoogle();
  const { url } = google.server;
  const [name, role] = [google.user(), google.role()];
  const providerOf = (email: string) => ({
    provider: 'gcp',
    config: {
      credentials: googleCredentials(google.server),
      projects: ['shop'],
      users: { [ada]: email },
      endpoints: { resource_manager: url, iam: url, cloud_identity: url, directory: url },
    },
  });
  return {
    connector: gcpConnector as Connector,
    provider: providerOf(name),
    role: { inherits: [`target:role/${role}`], resources: { allow: ['projects/shop'] } },
    time: new Date(google.clock.now).toISOString(),
    holds: async () => google.can(name, role),
    raise: async () => void google.roles.set(role, ['test.things.get', 'resourcemanager.projects.setIamPolicy']),
    [Symbol.asyncDispose]: () => google[Symbol.asyncDispose](),
  };
});

namesAt('groups of Google', async () => {
  const google = await startGoogle();
  const { url } = google.server;
  let name = google.user();
  const id = google.users.find(({ email }) => email === name)?.id ?? '';
  const providerOf = (email: string) => ({
    provider: 'gcp',
    config: {
      credentials: googleCredentials(google.server),
      groups: ['oncall@example.com'],
      users: { [ada]: email },
      endpoints: { resource_manager: url, iam: url, cloud_identity: url, directory: url },
    },
  });
  return {
    connector: gcpConnector as Connector,
    provider: providerOf(name),
    role: { inherits: ['target:group/oncall@example.com'] },
    time: new Date(google.clock.now).toISOString(),
    holds: async () => google.oncall.members.has(id),
    async rename() {
      google.rename(name, `r-${name}`);
      name = `r-${name}`;
      return { provider: providerOf(name) };
    },
    [Symbol.asyncDispose]: () => google[Symbol.asyncDispose](),
  };
});

for (const [place, role] of [
  ['group', (access: object) => ({ inherits: [`target:group/${Object.values(access)[0]}`] })],
  [
    'azure',
    (access: object) => ({
      inherits: [`target:azure-role/${Object.values(access)[0]}`],
      resources: { allow: [Object.values(access)[1]] },
    }),
  ],
] as const) {
  namesAt(`Entra, by ${place}`, async () => {
    const tenant = await startTenant();
    const { url } = tenant.server;
    const one = await tenant.fresh(place);
    const user = tenant.users.get(one.userId);
    const providerOf = (name: string) => ({
      provider: 'entra',
      config: {
        ...{ tenant: tenantId, client_id: clientId, client_secret: tenant.secret },
        scopes: [
          'scope' in one.access ? String(one.access.scope) : '/subscriptions/99999999-8888-4777-8666-555555555555',
        ],
        identity: { table: { [ada]: name } },
        endpoints: { login: url, graph: url, resource_manager: url },
      },
    });
    return {
      connector: entraConnector as Connector,
      provider: providerOf(one.identity),
      role: role(one.access),
      time: new Date(tenant.clock.now).toISOString(),
      holds: async () => tenant.held(place, one),
      async rename() {
        const name = `r-${user?.userPrincipalName}`;
        if (user) Object.assign(user, { userPrincipalName: name });
        return { provider: providerOf(name) };
      },
      async raise() {
        const group = tenant.groups.get(one.what);
        if (group) group.isAssignableToRole = true;
        const azure = tenant.azureRoles.get(one.what);
        if (azure) azure.actions = ['*'];
      },
      [Symbol.asyncDispose]: () => tenant[Symbol.asyncDispose](),
    };
  });
}
