import { planRoles } from '../plan-roles.js';
import type { AccessRequest, Connector, Plan } from '../port.js';
import { createAuthorizer } from './authorizer.js';
import { check, findWeaknesses } from './check.js';
import { addressOf, type LdapConfig, ldapConfig, readUrl } from './config.js';
import { createIdentities } from './identities.js';
import { findObstacles } from './obstacles.js';
import { openDirectory } from './session.js';

/** The connector for LDAP directories, OpenLDAP and Active Directory: membership of groups. */
export const ldapConnector: Connector<LdapConfig> = {
  type: 'ldap',
  description: 'OpenLDAP and Active Directory: membership of groups',
  capabilities: ['authorizer', 'identities'],
  config: ldapConfig,
  plan: planMemberships,
  address: addressOf,
  expiry: ({ member_ttl: ends }) => (ends ? { native: true, step: 'PT1S' } : undefined),
  connection: ({ url }) => ({ variables: { LDAPURI: readUrl(url).href } }),
  async create(config, { now }) {
    const directory = openDirectory(await import('ldapts'), config);
    return {
      authorizer: createAuthorizer(config, directory, now),
      identities: createIdentities(config, directory),
      check: (signal) => directory.call(signal, (session) => check(session, config)),
      weaknesses: (signal) => directory.call(signal, (session) => findWeaknesses(session, config)),
      obstacles: (accesses, signal) => directory.call(signal, (session) => findObstacles(session, config, accesses)),
      close: async () => {},
    };
  },
};

const prefix = 'group/';
const longestName = 512;

/** Returns one access, a membership, for each requested group. Returns all errors together; never throws. */
function planMemberships(_config: LdapConfig, request: AccessRequest): Plan {
  return planRoles(request, {
    rolesOnly: 'LDAP access is membership of groups: give the privileges to a group and inherit group/<name>',
    atLeastOne: 'must name at least one group',
    faultOf,
    accessOf: (role) => ({ group: role.slice(prefix.length) }),
  });
}

function faultOf(role: string): string | undefined {
  if (!role.startsWith(prefix) || role === prefix) return 'must be group/<name>, for example group/DB Operators';
  const name = role.slice(prefix.length);
  if (name.length > longestName) return `is longer than ${longestName} characters`;
  if (/\p{Cc}|\p{Surrogate}/u.test(name)) return 'contains characters that the name of a group cannot have';
  if (name !== name.trim()) return 'begins or ends with a space';
  return undefined;
}
