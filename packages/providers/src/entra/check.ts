import { z } from 'zod';
import { Terminal } from '../errors.js';
import type { Api } from './api.js';
import { type Permissions, permissionsSchema, permits } from './azure-roles.js';
import type { EntraConfig } from './config.js';

/**
 * Returns lists of permissions. The app needs one permission of each list. The first permission of a list permits the
 * least, and is named in the error.
 */
function needsOf({ pim, directory_roles: roles, end_sign_ins: ends }: EntraConfig): string[][] {
  const all = 'Directory.ReadWrite.All';
  return [
    ['User.Read.All', 'User.ReadWrite.All', 'Directory.Read.All', all],
    [
      'GroupMember.Read.All',
      'GroupMember.ReadWrite.All',
      'Group.Read.All',
      'Group.ReadWrite.All',
      'Directory.Read.All',
      all,
    ],
    ...(pim.includes('groups') ? [['PrivilegedAssignmentSchedule.ReadWrite.AzureADGroup']] : []),
    ...(pim.includes('directory_roles')
      ? [['RoleAssignmentSchedule.ReadWrite.Directory', 'RoleManagement.ReadWrite.Directory']]
      : []),
    ...(roles.length > 0 && !pim.includes('directory_roles') ? [['RoleManagement.ReadWrite.Directory']] : []),
    ...(ends ? [['User.RevokeSessions.All', 'User.ReadWrite.All', all]] : []),
  ];
}

/** Throws a `Terminal` that names what the app lacks: first permissions of Graph, then permissions in Azure. */
export async function check(config: EntraConfig, api: Api, signal: AbortSignal): Promise<void> {
  const granted = await api.permissions(signal);
  const missing = granted
    ? needsOf(config)
        .filter((some) => !some.some((one) => granted.includes(one)))
        .map(([least = '']) => least)
    : [];
  if (missing.length > 0) throw new Terminal(`Entra does not give the app the permission ${missing.join(', ')}`);
  await attempt('read users', api.users("userPrincipalName eq 'no-such-account'", signal).next());
  await attempt(
    'read groups',
    api.list(api.graph, { path: '/v1.0/groups', query: { $top: 1 } }, z.unknown(), signal).next(),
  );
  for (const scope of config.scopes) {
    const lacking = await lackingAt(scope, config, api, signal);
    if (lacking.length > 0) throw new Terminal(`Azure does not permit the connector ${lacking.join(', ')} on ${scope}`);
  }
}

async function lackingAt(scope: string, { pim }: EntraConfig, api: Api, signal: AbortSignal): Promise<string[]> {
  const rights = pim.includes('azure_roles')
    ? ['roleDefinitions/read', 'roleAssignments/read', 'roleAssignmentScheduleRequests/write']
    : ['roleDefinitions/read', 'roleAssignments/read', 'roleAssignments/write', 'roleAssignments/delete'];
  const needed = rights.map((right) => `Microsoft.Authorization/${right}`);
  const at = `${scope}/providers/Microsoft.Authorization/permissions`;
  const held: Permissions[] = [];
  const call = { path: at, query: { 'api-version': '2022-04-01' } };
  for await (const { item } of api.list(api.azure, call, permissionsSchema, signal)) held.push(item);
  return needed.filter((right) => !permits(held, right));
}

async function attempt(what: string, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof Terminal)) throw error;
    throw new Terminal(`${error.message}: it cannot ${what}`, { cause: error });
  }
}
