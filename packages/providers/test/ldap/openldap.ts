import { randomUUID } from 'node:crypto';
import { type SlapdTarget, startTarget } from '@belay/targets';
import { Attribute, Change, Client } from 'ldapts';
import type { ProviderClient } from '../../src/index.js';
import { ldapConnector } from '../../src/index.js';

const secret = 'the-password-of-an-account';

/** An OpenLDAP server with people and groups, and its administrator. */
export interface OpenLdap extends AsyncDisposable {
  target: SlapdTarget;
  admin: Client;
  people: string;
  groups: string;
  /** Makes a person and returns their distinguished name. */
  person(login?: string, attributes?: Record<string, string>): Promise<string>;
  /** Makes a group with one member of its own and returns its cn. */
  group(cn?: string, members?: string[]): Promise<string>;
  groupDn(cn: string): string;
  /** Returns the members of a group as the server lists them. */
  members(cn: string): Promise<string[]>;
  change(dn: string, operation: 'add' | 'delete' | 'replace', attribute: string, values: string[]): Promise<void>;
  /** Makes an entry that only members of the group may compare. */
  vault(cn: string): Promise<void>;
  /** Returns whether the person, after a new sign-in, may compare the entry that the group protects. */
  canUse(person: string, cn: string): Promise<boolean>;
  signIn(dn: string): Promise<Client>;
  settings(more?: object): object;
  connect(more?: object): Promise<ProviderClient>;
}

const escapeValue = (text: string) => text.replace(/[,+"\\<>;=#]/g, '\\$&');

/** Returns whether a connection may compare the entry that a group protects. */
export function open(client: Client, cn: string): Promise<boolean> {
  return client.compare(`cn=vault-${cn},ou=groups,${suffix}`, 'cn', `vault-${cn}`).catch((error) => {
    if ([32, 50].includes(error.code)) return false;
    throw error;
  });
}

const suffix = 'dc=belay,dc=test';
const account = `cn=belay,ou=services,${suffix}`;

/** The permissions of docs/connectors/ldap.md: Belay's account may write members of groups, and read, but nothing else. */
const leastRights = [
  `limits dn.exact="${account}" size=unlimited`,
  'access to attrs=userPassword by anonymous auth by * none',
  // Only members of a group can compare the entry called vault-<group>.
  `access to dn.regex="^cn=vault-([^,]+),ou=groups,${suffix}$" by group/groupOfNames/member.expand="cn=$1,ou=groups,${suffix}" compare by * none`,
  `access to dn.subtree="ou=groups,${suffix}" attrs=member,uniqueMember by dn.exact="${account}" write by users read`,
  'access to * by users read',
];

/** The same permissions, but every signed-in user may write. */
export const looseRights = leastRights.map((line) => line.replace('by users read', 'by users write'));

/** Starts a server. `settings` are further lines of its configuration: the overlay that keeps contextCSN, unless set. */
export async function openLdap({
  rights = leastRights,
  settings: lines = ['overlay syncprov'],
}: {
  rights?: readonly string[];
  settings?: readonly string[];
} = {}): Promise<OpenLdap> {
  const target = await startTarget('slapd', {
    settings: ['include /etc/ldap/schema/dyngroup.schema', ...rights, ...lines],
  });
  const admin = new Client({ url: target.url });
  await admin.bind(target.admin.dn, target.admin.password);
  const [people, groups] = [`ou=people,${target.suffix}`, `ou=groups,${target.suffix}`];
  await admin.add(`ou=services,${suffix}`, { objectClass: 'organizationalUnit', ou: 'services' });
  await admin.add(account, {
    objectClass: ['applicationProcess', 'simpleSecurityObject'],
    cn: 'belay',
    userPassword: secret,
  });
  const groupDn = (cn: string) => `cn=${escapeValue(cn)},${groups}`;
  const settings = (more: object = {}) => ({
    url: target.url,
    directory: 'openldap',
    allow_plain_text: true,
    bind_dn: account,
    password: secret,
    people_base: people,
    groups_base: groups,
    ...more,
  });
  const signIn = async (dn: string) => {
    const client = new Client({ url: target.url });
    await client.bind(dn, secret);
    return client;
  };
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
        userPassword: secret,
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
    async vault(cn) {
      await admin.add(`cn=vault-${cn},${groups}`, { objectClass: 'device', cn: `vault-${cn}` });
    },
    async canUse(person, cn) {
      const client = await signIn(person);
      const opened = await open(client, cn);
      await client.unbind();
      return opened;
    },
    signIn,
    connect: async (more) =>
      ldapConnector.create(ldapConnector.config.parse(settings(more)), { log: () => {}, now: () => Date.now() }),
    async [Symbol.asyncDispose]() {
      await admin.unbind();
      await target[Symbol.asyncDispose]();
    },
  };
}
