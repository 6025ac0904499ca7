import { Terminal } from '../errors.js';
import type { ConnectorTools, ProviderClient, Weakness } from '../port.js';
import { type Api, openApi } from './api.js';
import { createAuthorizer } from './authorizer.js';
import type { GithubConfig } from './config.js';
import { createIdentities } from './identities.js';
import { createPeople } from './people.js';

/** Permissions that the App needs for some kinds of access only, with their names on GitHub's pages. */
const forKinds = [
  { permission: 'administration', level: 'write', name: 'repository permission Administration', kind: 'repo-role' },
  {
    permission: 'organization_custom_org_roles',
    level: 'read',
    name: 'organization permission Custom organization roles',
    kind: 'org-role',
  },
];
/** With these, a stolen key of the App could do more than grant access. */
const tooMuch = ['contents', 'workflows', 'secrets', 'organization_administration', 'organization_secrets', 'actions'];

/** Opens the client of an organization at GitHub. */
export async function openGithub(config: GithubConfig, tools: ConnectorTools): Promise<ProviderClient> {
  const api = await openApi(config, tools);
  const people = createPeople(api);
  return {
    authorizer: createAuthorizer(config, api, people),
    identities: createIdentities(config, api, people),
    async check(signal) {
      const { permissions } = await api.installation(signal);
      if (permissions.members !== 'write') {
        throw new Terminal('The GitHub App lacks the organization permission Members: Read and write');
      }
      await api.organization(signal);
    },
    weaknesses: (signal) => findWeaknesses(api, signal),
    close: () => api.close(),
  };
}

async function findWeaknesses(api: Api, signal: AbortSignal): Promise<Weakness[]> {
  const { permissions } = await api.installation(signal);
  const lacking = forKinds.filter(({ permission, level }) => ![level, 'write'].includes(permissions[permission] ?? ''));
  return [
    ...lacking.map(({ name, level, kind }) => ({
      message: `The GitHub App lacks the ${name}: ${level}, so ${kind} cannot be granted or revoked`,
      cure: `Give the App this permission and accept it in the organization, or grant no ${kind}`,
    })),
    ...tooMuch
      .filter((permission) => permissions[permission] === 'write')
      .map((permission) => ({
        message: `The GitHub App has the permission ${permission}: write, which it does not need`,
        cure: 'Remove the permission in the settings of the App',
      })),
  ];
}
