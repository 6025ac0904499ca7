import { randomUUID } from 'node:crypto';
import * as vitest from 'vitest';
import { type AccessRequest, ldapConnector } from '../../src/index.js';
import { conformance } from '../../src/testkit/index.js';
import { hostile } from './attacks.js';
import { openLdap } from './openldap.js';
import { nonsense, sensible } from './requests.js';

conformance(
  vitest,
  'ldap on OpenLDAP',
  async () => {
    const server = await openLdap();
    const exclusive = await Promise.all(Array.from({ length: 40 }, () => server.group()));
    const free = [...exclusive];
    const client = await server.connect({ exclusive });
    const down = await server.connect({ url: 'ldap://127.0.0.1:1' });
    const config = ldapConnector.config.parse(server.settings());
    return {
      client,
      down,
      plan: (request: AccessRequest) => ldapConnector.plan?.(config, request) ?? { ok: false, issues: [] },
      async fresh() {
        const identity = await server.person();
        return { id: `entitlement of ${identity}`, identity, access: { group: free.pop() ?? (await server.group()) } };
      },
      nonsense,
      sensible,
      unknownAccess: { group: 'no-such-group' },
      knowsIdentities: true,
      at: {
        async rename({ pin: _, ...one }) {
          const to = `renamed-${randomUUID()}`;
          await server.admin.modifyDN(one.identity, `uid=${to}`);
          return { ...one, identity: `uid=${to},${server.people}` };
        },
        async neighbours(one) {
          const options = { filter: '(objectClass=*)', attributes: ['*', 'entryUUID'] };
          const { searchEntries } = await server.admin.search(server.target.suffix, options);
          const others = ({ dn }: { dn: string }) => dn !== server.groupDn(String(one.access.group));
          return {
            entries: searchEntries.filter(others),
            members: (await server.members(String(one.access.group))).filter((dn) => dn !== one.identity),
          };
        },
        async stranger() {
          const identity = await server.person();
          const [group = ''] = exclusive;
          await server.change(server.groupDn(group), 'add', 'member', [identity]);
          return { id: '', identity, access: { group } };
        },
      },
      async close() {
        await Promise.all([client.close(), down.close()]);
        await server[Symbol.asyncDispose]();
      },
    };
  },
  hostile,
);
