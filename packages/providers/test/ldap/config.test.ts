import { describe, expect, it } from 'vitest';
import { ldapConnector } from '../../src/index.js';

const base = {
  url: 'ldaps://ldap.example.com',
  directory: 'openldap',
  bind_dn: 'cn=belay,dc=example,dc=com',
  password: 'a-password',
  people_base: 'ou=people,dc=example,dc=com',
  groups_base: 'ou=groups,dc=example,dc=com',
};
const domain = { ...base, directory: 'active_directory' };
const parse = (config: unknown) => ldapConnector.config.safeParse(config);
const issuesOf = (config: unknown) =>
  parse(config).error?.issues.map(({ path, message }) => [path.join('.'), message] as const) ?? [];

describe('the configuration of ldap', () => {
  it.each([
    [base],
    [domain],
    [{ ...base, url: 'ldap://ldap.example.com', start_tls: true }],
    [{ ...base, url: 'ldap://127.0.0.1:3890', allow_plain_text: true }],
    [{ ...base, url: 'ldaps://[2001:db8::1]:6636' }],
    [{ ...base, identity: 'username', email_domains: ['example.com'] }],
    [{ ...base, identity: { table: { 'rita@example.com': 'rita' } } }],
    [{ ...base, people_filter: '(&(objectClass=person)(!(cn=\\28external\\29)))', member_attribute: 'uniqueMember' }],
    [{ ...base, people_filter: '(department=🚀)' }],
    [{ ...domain, residual: 'PT4H', exclusive: ['DB Operators'] }],
    [{ ...domain, member_ttl: true }],
  ])('accepts %j', (config) => expect(issuesOf(config)).toEqual([]));

  it.each([
    [{ ...base, url: 'ldap://ldap.example.com' }, 'url', 'start_tls: true'],
    [{ ...base, url: 'ldap://ldap.example.com', allow_plain_text: true }, 'url', 'ldaps://'],
    [{ ...domain, url: 'ldap://127.0.0.1', allow_plain_text: true }, 'url', 'ldaps://'],
    [{ ...base, url: 'https://ldap.example.com' }, 'url', 'ldaps://<host>'],
    [{ ...base, url: 'ldaps://belay:secret@ldap.example.com' }, 'url', 'without credentials'],
    [{ ...base, url: 'ldaps://ldap.example.com/ou=people' }, 'url', 'path'],
    [{ ...base, start_tls: true }, 'start_tls', 'ldaps://'],
    [{ ...base, password: '' }, 'password', '>=1'],
    [{ ...base, people_base: 'people' }, 'people_base', 'ou=people,dc=example,dc=com'],
    [{ ...base, groups_base: '<GUID=1>' }, 'groups_base', 'distinguished name'],
    [{ ...base, people_filter: 'objectClass=person' }, 'people_filter', '(objectClass=person)'],
    [{ ...base, people_filter: '(a=b)(c=d)' }, 'people_filter', 'filter'],
    [{ ...base, identity: 'username' }, 'email_domains', '[example.com]'],
    [{ ...base, identity: { table: { Rita: 'rita' } } }, 'identity.table.Rita', 'canonical form'],
    [{ ...base, residual: '10 hours' }, 'residual', 'PT10H'],
    [{ ...base, ca: 'a file' }, 'ca', 'BEGIN CERTIFICATE'],
    [{ ...base, directory: 'edirectory' }, 'directory', 'openldap'],
    [{ ...domain, placeholder_member: 'cn=x,dc=example,dc=com' }, 'placeholder_member', 'openldap'],
    [{ ...domain, referential_integrity: true }, 'referential_integrity', 'openldap'],
    [{ ...domain, member_attribute: 'uniqueMember' }, 'member_attribute', 'must be member'],
    [{ ...base, member_ttl: true }, 'member_ttl', 'active_directory'],
    [{ ...base, more: 1 }, '', 'more'],
  ])('rejects %j at %s', (config, path, fix) => {
    const [found] = issuesOf(config).filter(([at]) => at === path);
    expect(found?.[1]).toContain(fix);
  });

  it('takes the address without the account for what says where the target is', () => {
    const address = (more: object) => ldapConnector.address?.(ldapConnector.config.parse({ ...base, ...more }));
    expect(address({})).toEqual(address({ url: 'ldaps://LDAP.example.com:636/', password: 'another' }));
    expect(address({})).not.toEqual(address({ url: 'ldaps://other.example.com' }));
    expect(JSON.stringify(address({}))).not.toContain('a-password');
  });

  it('says that the directory ends memberships where they have a time to live, and nowhere else', () => {
    const expiry = (config: unknown) => ldapConnector.expiry?.(ldapConnector.config.parse(config), { group: 'any' });
    expect([expiry(base), expiry(domain)]).toEqual([undefined, undefined]);
    expect(expiry({ ...domain, member_ttl: true })).toEqual({ native: true, step: 'PT1S' });
  });

  it('states what outlasts a revocation: nothing in OpenLDAP, ten hours in Active Directory, or what is set', async () => {
    const residualOf = async (config: unknown) => {
      const client = await ldapConnector.create(ldapConnector.config.parse(config), { log: () => {}, now: () => 0 });
      return client.authorizer?.residual;
    };
    expect(await residualOf(base)).toBe('PT0S');
    expect(await residualOf(domain)).toBe('PT10H');
    expect(await residualOf({ ...domain, residual: 'PT1H' })).toBe('PT1H');
  });
});
