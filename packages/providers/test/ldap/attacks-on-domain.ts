import { randomUUID } from 'node:crypto';
import type { Attack, HostileHolder, Seat } from '../../src/testkit/hostile-holder.js';
import { byNames } from '../../src/testkit/index.js';
import type { ActiveDirectory } from './active-directory.js';

/** A holder in a domain, who as a member of the group may change one entry, and whose helper administers the domain. */
export interface DomainSeat extends Seat {
  server: ActiveDirectory;
  /** The name of the holder's entry, which an attack may change. */
  own: { dn: string };
  group: string;
  /** Returns whether an account may make the change after a new sign-in. */
  canWrite(dn: string): Promise<boolean>;
}

const stop = async () => {};
/** For attacks after which only the holder could use the access, which the suite tries anyway. */
const nothingElse = async () => false;
const description = 'bf967950-0de6-11d0-a285-00aa003049e2';
const loginOf = (dn: string) => /^CN=([^,]+)/.exec(dn)?.[1] ?? '';

const attacks: Record<string, Attack<DomainSeat>> = {
  'has their account renamed': async ({ server, own }) => {
    const to = `CN=renamed-${randomUUID().slice(0, 8)}`;
    await server.admin.modifyDN(own.dn, to);
    own.dn = `${to},${server.people}`;
    return { reaches: nothingElse, stop };
  },

  'has their account renamed, and another one takes its name': async ({ server, own, canWrite }) => {
    const [before, to] = [own.dn, `CN=renamed-${randomUUID().slice(0, 8)}`];
    await server.admin.modifyDN(before, to);
    own.dn = `${to},${server.people}`;
    await server.change(own.dn, 'replace', 'sAMAccountName', [to.slice(3)]);
    await server.person(loginOf(before));
    return { reaches: () => canWrite(before), stop };
  },

  'has their account deleted and made again': async ({ server, own }) => {
    await server.admin.del(own.dn);
    await server.person(loginOf(own.dn));
    return { reaches: nothingElse, stop };
  },

  'has their account moved out of the people': async ({ server, own }) => {
    const moved = `CN=${loginOf(own.dn)},${server.groups}`;
    await server.admin.modifyDN(own.dn, moved);
    own.dn = moved;
    return { reaches: nothingElse, stop };
  },

  'has the group renamed and moved out of the groups': async ({ server, group }) => {
    await server.admin.modifyDN(server.groupDn(group), `CN=moved-${group},${server.people}`);
    return { reaches: nothingElse, stop };
  },

  'has their account disabled while the access ends, and enabled afterwards': async ({ server, own, canWrite }) => {
    await server.change(own.dn, 'replace', 'userAccountControl', ['514']);
    let isEnabled = false;
    return {
      async reaches() {
        if (!isEnabled) await server.change(own.dn, 'replace', 'userAccountControl', ['512']);
        isEnabled = true;
        return canWrite(own.dn);
      },
      stop,
    };
  },
};

/** Returns the attacks in Active Directory, for the domain that the test file shares. */
export function hostileIn(domain: () => Promise<ActiveDirectory>): HostileHolder<DomainSeat> {
  return {
    attacks,
    async open() {
      const server = await domain();
      const client = await server.connect();
      const { authorizer } = client;
      if (!authorizer) throw new Error('no authorizer');
      return {
        authorizer: byNames(authorizer),
        async seat() {
          const [identity, group] = [await server.person(), await server.group()];
          const vault = `CN=vault-${group},${server.people}`;
          await server.admin.add(vault, { objectClass: 'contact' });
          await server.permit(vault, group, description);
          const own = { dn: identity };
          const canWrite = async (dn: string) => {
            // A disabled account cannot sign in (49).
            const person = await server.signIn(dn).catch(({ code }) => (code === 49 ? null : Promise.reject(code)));
            const done = person !== null && (await server.write(person, vault, 'description', randomUUID()));
            await person?.unbind();
            return done;
          };
          return {
            ...{ server, own, group, canWrite },
            entitlement: { id: identity, identity, access: { group } },
            canUse: () => canWrite(own.dn),
            close: stop,
          };
        },
        close: () => client.close(),
      };
    },
  };
}
