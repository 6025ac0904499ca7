import { randomUUID } from 'node:crypto';
import { Attribute, Change, type Client } from 'ldapts';
import { byNames } from '../../src/testkit/by-names.js';
import type { Attack, Foothold, HostileHolder, Seat } from '../../src/testkit/hostile-holder.js';
import { looseRights, type OpenLdap, open, openLdap } from './openldap.js';

/** A holder in a directory in which every user may write everything but the vaults. */
export interface LdapSeat extends Seat {
  server: OpenLdap;
  /** The name of the holder's entry, which an attack may change. */
  own: { dn: string };
  group: string;
  /** A connection that was signed in before the grant. */
  client: Client;
}

const change = (operation: 'add' | 'delete' | 'replace', values: string[]) =>
  new Change({ operation, modification: new Attribute({ type: 'member', values }) });

async function openHostile() {
  const server = await openLdap({ rights: looseRights });
  const client = await server.connect({ placeholder_member: `cn=placeholder,${server.groups}` });
  return {
    authorizer: byNames(client.authorizer),
    async seat(): Promise<LdapSeat> {
      const [identity, group] = [await server.person(), await server.group()];
      await server.vault(group);
      const own = { dn: identity };
      const holder = await server.signIn(identity);
      return {
        entitlement: { id: identity, identity, access: { group } },
        server,
        own,
        group,
        client: holder,
        canUse: () => server.canUse(own.dn, group),
        close: () => holder.unbind(),
      };
    },
    async close() {
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/**
 * Makes an entry with a name that the holder had. It is another person, so the membership under this name is left, and the revocation
 * is not complete, until an administrator removes it.
 */
async function leftToAnother(server: OpenLdap, group: string, name: string): Promise<Foothold> {
  await server.person(/^uid=([^,]+)/.exec(name)?.[1]);
  let settled = false;
  return {
    reaches: async () => settled && (await server.canUse(name, group)),
    async cleanUp() {
      await server.admin.modify(server.groupDn(group), change('delete', [name]));
      settled = true;
    },
    stop: async () => {},
  };
}

/** What a holder can do in a directory to stay a member, or to be treated as a member. */
const attacks: Record<string, Attack<LdapSeat>> = {
  'keeps a connection open that was signed in before the grant': async ({ client, group }) => ({
    reaches: () => open(client, group),
    stop: async () => {},
  }),

  'keeps asking on a connection while the access ends': async ({ server, own, group }) => {
    const client = await server.signIn(own.dn);
    let going = true;
    const work = (async () => {
      while (going) await open(client, group);
    })();
    return {
      reaches: () => open(client, group),
      async stop() {
        going = false;
        await work;
        await client.unbind();
      },
    };
  },

  'renames their own entry': async ({ client, own, server }) => {
    const to = `uid=renamed-${randomUUID()}`;
    await client.modifyDN(own.dn, to);
    own.dn = `${to},${server.people}`;
    return { reaches: async () => false, stop: async () => {} };
  },

  'renames their own entry, and makes another one that has the old name': async ({ client, own, server, group }) => {
    const [before, to] = [own.dn, `uid=renamed-${randomUUID()}`];
    await client.modifyDN(before, to);
    own.dn = `${to},${server.people}`;
    return leftToAnother(server, group, before);
  },

  'renames their own entry, is granted anew by a repeat, and renames it back': async ({
    client,
    own,
    server,
    group,
  }) => {
    const [before, to] = [own.dn, `uid=renamed-${randomUUID()}`];
    await client.modifyDN(before, to);
    await client.modifyDN(`${to},${server.people}`, before.split(',')[0] ?? '');
    return { reaches: () => server.canUse(before, group), stop: async () => {} };
  },

  'deletes their own entry and makes it anew': async ({ own, server, group }) => {
    const before = own.dn;
    await server.admin.del(before);
    own.dn = await server.person();
    return leftToAnother(server, group, before);
  },

  'removes all other members, so that the group may not lose its last one': async ({ client, server, own, group }) => {
    const others = (await server.members(group)).filter((dn) => dn !== own.dn);
    await client.modify(server.groupDn(group), change('delete', others));
    return { reaches: async () => false, stop: async () => {} };
  },

  'renames the group and back': async ({ client, server, group }) => {
    await client.modifyDN(server.groupDn(group), `cn=elsewhere-${group}`);
    await client.modifyDN(server.groupDn(`elsewhere-${group}`), `cn=${group}`);
    return { reaches: async () => false, stop: async () => {} };
  },

  'removes themselves and comes back under another spelling of their name': async ({ client, server, own, group }) => {
    const other = own.dn.toUpperCase().replaceAll(',', ' , ');
    await client.modify(server.groupDn(group), [change('delete', [own.dn]), change('add', [other])]);
    return { reaches: async () => false, stop: async () => {} };
  },

  'hides the group below another entry': async ({ client, server, own, group }) => {
    const shelter = `cn=shelter-${group},${server.people}`;
    await server.admin.add(shelter, { objectClass: 'device', cn: `shelter-${group}` });
    await client.modifyDN(server.groupDn(group), `cn=${group},${shelter}`);
    const isMember = () => server.admin.compare(`cn=${group},${shelter}`, 'member', own.dn);
    return { reaches: isMember, stop: async () => {} };
  },
};

export const hostile: HostileHolder<LdapSeat> = {
  open: openHostile,
  attacks,
  watchSeconds: Number(process.env.BELAY_TEST_HOSTILE_SECONDS ?? 2),
};
