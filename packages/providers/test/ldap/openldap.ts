import { randomUUID } from 'node:crypto';
import { type DirectoryTarget, startTarget } from '@belay/targets';
import { Attribute, Change, Client } from 'ldapts';
import type { ProviderClient } from '../../src/index.js';
import { ldapConnector } from '../../src/index.js';

const personPassword = 'the-password-of-a-person';

/** An OpenLDAP server with people and groups, and its administrator. */
export interface OpenLdap extends AsyncDisposable {
  target: DirectoryTarget;
  admin: Client;
  people: string;
  groups: string;
  /** Makes a person and returns their name. */
  person(login?: string, attributes?: Record<string, string>): Promise<string>;
  /** Makes a group with one member of its own and returns its cn. */
  group(cn?: string, members?: string[]): Promise<string>;
  groupDn(cn: string): string;
  /** Returns the members of a group as the server lists them. */
  members(cn: string): Promise<string[]>;
  change(dn: string, operation: 'add' | 'delete' | 'replace', attribute: string, values: string[]): Promise<void>;
  settings(more?: object): object;
  connect(more?: object): Promise<ProviderClient>;
}

const escapeValue = (text: string) => text.replace(/[,+"\\<>;=#]/g, '\\$&');

/** Starts a server. `settings` are further lines of its configuration. */
export async function openLdap(options: { settings?: readonly string[] } = {}): Promise<OpenLdap> {
  const target = await startTarget('slapd', options);
  const admin = new Client({ url: target.url });
  await admin.bind(target.admin.dn, target.admin.password);
  const [people, groups] = [`ou=people,${target.suffix}`, `ou=groups,${target.suffix}`];
  const groupDn = (cn: string) => `cn=${escapeValue(cn)},${groups}`;
  const settings = (more: object = {}) => ({
    url: target.url,
    directory: 'openldap',
    allow_plain_text: true,
    bind_dn: target.admin.dn,
    password: target.admin.password,
    people_base: people,
    groups_base: groups,
    ...more,
  });
  return {
    target,
    admin,
    people,
    groups,
    groupDn,
    settings,
    async person(login = `p${randomUUID().slice(0, 8)}`, attributes = {}) {
      const dn = `uid=${escapeValue(login)},${people}`;
      await admin.add(dn, {
        objectClass: 'inetOrgPerson',
        uid: login,
        cn: login,
        sn: login,
        mail: `${login}@example.test`,
        userPassword: personPassword,
        ...attributes,
      });
      return dn;
    },
    async group(cn = `g${randomUUID().slice(0, 8)}`, members = [`cn=keeper,${groups}`]) {
      await admin.add(groupDn(cn), { objectClass: 'groupOfNames', cn, member: members });
      return cn;
    },
    async members(cn) {
      const { searchEntries } = await admin.search(groupDn(cn), { scope: 'base', attributes: ['member'] });
      return [searchEntries[0]?.member ?? []].flat().map(String);
    },
    async change(dn, operation, type, values) {
      await admin.modify(dn, new Change({ operation, modification: new Attribute({ type, values }) }));
    },
    connect: async (more) =>
      ldapConnector.create(ldapConnector.config.parse(settings(more)), { log: () => {}, now: () => Date.now() }),
    async [Symbol.asyncDispose]() {
      await admin.unbind();
      await target[Symbol.asyncDispose]();
    },
  };
}
