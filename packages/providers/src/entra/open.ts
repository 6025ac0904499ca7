import { Terminal } from '../errors.js';
import type { Access, ConnectorTools, Obstacle, ProviderClient, Weakness } from '../port.js';
import { readAccess } from './access.js';
import { type Api, openApi } from './api.js';
import { createAuthorizer } from './authorizer.js';
import { check } from './check.js';
import type { EntraConfig } from './config.js';
import { createGroups } from './groups.js';
import { createIdentities } from './identities.js';
import type { Place } from './place.js';

/** Opens the client of a tenant. */
export async function openEntra(config: EntraConfig, tools: ConnectorTools): Promise<ProviderClient> {
  const api = await openApi(config, tools);
  const authorizer = createAuthorizer(config, api, tools.now);
  return {
    authorizer,
    identities: createIdentities(config, api),
    check: (signal) => check(config, api, signal),
    weaknesses: (signal) => findWeaknesses(config, api, signal),
    obstacles: (accesses, signal) => findObstacles(createGroups(config, api, tools.now), accesses, signal),
    close: () => api.close(),
  };
}

const tooMuch = [
  'Directory.ReadWrite.All',
  'Application.ReadWrite.All',
  'AppRoleAssignment.ReadWrite.All',
  'User.ReadWrite.All',
];

async function findWeaknesses(config: EntraConfig, api: Api, signal: AbortSignal): Promise<Weakness[]> {
  const found: Weakness[] = [];
  const granted = (await api.permissions(signal)) ?? [];
  const unneeded = granted.filter((one) => tooMuch.includes(one));
  if (unneeded.length > 0) {
    found.push({
      message: `The app has ${unneeded.join(', ')}, which the connector does not need`,
      cure: 'Remove these permissions, and give the app those of docs/connectors/entra.md',
    });
  }
  if (granted.includes('GroupMember.ReadWrite.All') || granted.includes('Group.ReadWrite.All')) {
    found.push({
      message: 'The app can change the members of all groups of the tenant',
      cure: 'Make the app an owner of the groups, or give it Groups Administrator in an administrative unit, and remove the permission',
    });
  }
  if (config.pim.length === 0) {
    found.push({
      message: 'No access expires at Entra by itself: while Belay is stopped, it does not end',
      cure: 'Name the licensed kinds in pim (Entra ID P2 or Entra ID Governance)',
    });
  }
  return found;
}

/** Returns the groups that several groups share the name of: a request would be rejected, and any user of the tenant may have made the second one. */
async function findObstacles(groups: Place, accesses: readonly Access[], signal: AbortSignal): Promise<Obstacle[]> {
  const found: Obstacle[] = [];
  for (const access of accesses) {
    if (!('group' in access)) continue;
    try {
      await groups.find(readAccess({ access }), signal);
    } catch (error) {
      if (!(error instanceof Terminal)) throw error;
      const cure = 'Write the object ID of the group in the role: group/<object ID>';
      found.push({ access, message: `group/${String(access.group)}: ${error.message}`, cure });
    }
  }
  return found;
}
