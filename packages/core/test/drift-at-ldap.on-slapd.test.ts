import { type Connector, ldapConnector } from '@belay/providers';
import { openLdap } from '../../providers/test/ldap/openldap.js';
import { driftAt } from './support/drift-at.js';

driftAt('OpenLDAP', async () => {
  const server = await openLdap();
  const [cn, ada, other] = [await server.group(), await server.person('ada'), await server.person()];
  const keeper = `cn=keeper,${server.groups}`;
  // The member that a group needs must not be a person.
  const dn = server.groupDn(cn);
  const holds = async (person: string) => (await server.members(cn)).includes(person);
  const remove = (person: string) => server.change(dn, 'delete', 'member', [person]);
  const put = (person: string) => server.change(dn, 'add', 'member', [person]);
  return {
    connector: ldapConnector as Connector,
    provider: {
      provider: 'ldap',
      config: server.settings({
        exclusive: [cn],
        placeholder_member: keeper,
        identity: { table: { 'ada@example.com': 'ada' } },
      }),
    },
    role: { inherits: [`target:group/${cn}`] },
    marks: false,
    holds: () => holds(ada),
    remove: () => remove(ada),
    putBack: () => put(ada),
    async stranger() {
      await put(other);
      return { holds: () => holds(other), remove: () => remove(other) };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
});
