import { type Connector, ldapConnector } from '@belay/providers';
import { openLdap } from '../../providers/test/ldap/openldap.js';
import { namesAt } from './support/names-at.js';

namesAt('OpenLDAP, which leaves former names in groups', async () => {
  const server = await openLdap();
  const cn = await server.group();
  let dn = await server.person('ada');
  const known = [dn];
  let made = 0;
  const providerOf = (uid: string) => ({
    provider: 'ldap',
    config: server.settings({
      placeholder_member: `cn=keeper,${server.groups}`,
      identity: { table: { 'ada@example.com': uid } },
    }),
  });
  return {
    connector: ldapConnector as Connector,
    provider: providerOf('ada'),
    role: { inherits: [`target:group/${cn}`] },
    holds: async () => (await server.members(cn)).some((member) => known.includes(member)),
    async rename() {
      made += 1;
      await server.admin.modifyDN(dn, `uid=ada-${made}`);
      dn = `uid=ada-${made},${server.people}`;
      known.push(dn);
      return { provider: providerOf(`ada-${made}`) };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
});
