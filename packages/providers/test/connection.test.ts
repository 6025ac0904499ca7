import { expect, it } from 'vitest';
import { gcpConnector } from '../src/gcp/connector.js';
import { ldapConnector } from '../src/ldap/connector.js';
import { mysqlConnector } from '../src/mysql/connector.js';

it('tells a holder where MySQL is and as whom, without the account of Belay', () => {
  const config = mysqlConnector.config.parse({
    url: 'mysql://belay:hidden@db.example.com:3307/belay',
    username_template: '{email}',
  });
  const held = { identity: 'rita@10.0.0.%', access: { role: 'reader' } };
  expect(mysqlConnector.connection?.(config, held)).toEqual({
    MYSQL_HOST: 'db.example.com',
    MYSQL_TCP_PORT: '3307',
    MYSQL_USER: 'rita',
  });
});

it('tells a holder the project of a role of Google Cloud, and nothing for a group', () => {
  const config = gcpConnector.config.parse({ projects: ['figures-prod'], groups: ['readers@example.com'] });
  const read = (access: { role: string; resource: string } | { group: string }) =>
    gcpConnector.connection?.(config, { identity: 'rita@example.com', access });
  const role = { role: 'roles/bigquery.dataViewer', resource: 'projects/figures-prod' };
  expect(read(role)).toEqual({ CLOUDSDK_CORE_PROJECT: 'figures-prod' });
  expect(read({ group: 'readers@example.com' })).toEqual({});
});

it('tells a holder where a directory is, without the account of Belay', () => {
  const config = ldapConnector.config.parse({
    url: 'ldaps://ldap.example.com',
    directory: 'openldap',
    bind_dn: 'cn=belay,dc=example,dc=com',
    password: 'hidden',
    people_base: 'ou=people,dc=example,dc=com',
    groups_base: 'ou=groups,dc=example,dc=com',
  });
  const held = { identity: 'uid=rita,ou=people,dc=example,dc=com', access: { group: 'readers' } };
  expect(ldapConnector.connection?.(config, held)).toEqual({ LDAPURI: 'ldaps://ldap.example.com:636' });
});
