import type { Connector } from '../port.js';
import { createAuthorizer } from './authorizer.js';
import { check, findWeaknesses } from './check.js';
import { addressOf, type LdapConfig, ldapConfig, readUrl } from './config.js';
import { createIdentities } from './identities.js';
import { findObstacles } from './obstacles.js';
import { planMemberships } from './plan.js';
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
