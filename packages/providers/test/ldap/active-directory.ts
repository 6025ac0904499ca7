import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { type ActiveDirectoryTarget, programs, startTarget } from '@belay/targets';
import { Attribute, Change, Client } from 'ldapts';
import { ldapConnector, type ProviderClient } from '../../src/index.js';

const password = 'The-Passw0rd-0f-a-person';

/** An Active Directory domain with organizational units for people and groups, and its administrator. */
export interface ActiveDirectory extends AsyncDisposable {
  target: ActiveDirectoryTarget;
  admin: Client;
  people: string;
  groups: string;
  person(login?: string): Promise<string>;
  group(cn?: string): Promise<string>;
  groupDn(cn: string): string;
  members(cn: string): Promise<string[]>;
  change(
    dn: string,
    operation: 'add' | 'delete' | 'replace',
    attribute: string,
    values: (string | Buffer)[],
  ): Promise<void>;
  signIn(dn: string): Promise<Client>;
  /** Writes an attribute as a person. Returns whether the directory permitted it. */
  write(client: Client, dn: string, attribute: string, value: string): Promise<boolean>;
  /** Permits members of a group to write one attribute (by its schema identifier) of an entry. */
  permit(dn: string, cn: string, attribute: string): Promise<void>;
  /** Gives an account the permission of docs/connectors/ldap.md: to write the members of groups below the unit. */
  permitMembers(dn: string): Promise<void>;
  /** Returns the last part of an entry's SID. */
  relativeId(dn: string): Promise<string>;
  password: string;
  settings(more?: object): object;
  connect(more?: object): Promise<ProviderClient>;
}

export async function openActiveDirectory(): Promise<ActiveDirectory> {
  const target = await startTarget('samba');
  const signIn = async (dn: string, secret = password) => {
    const client = new Client({
      url: target.secureUrl,
      tlsOptions: { ca: target.ca, servername: 'dc1.belay.test' },
    });
    await client.bind(dn, secret);
    return client;
  };
  const admin = await signIn(target.admin.dn, target.admin.password);
  const [people, groups] = ['People', 'Elevated'].map((name) => `OU=${name},${target.suffix}`) as [string, string];
  for (const ou of [people, groups]) await admin.add(ou, { objectClass: 'organizationalUnit' });
  const change: ActiveDirectory['change'] = async (dn, operation, type, values) => {
    await admin.modify(
      dn,
      new Change({ operation, modification: new Attribute({ type, values: values as string[] }) }),
    );
  };
  const groupDn = (cn: string) => `CN=${cn},${groups}`;
  const settings = (more: object = {}) => ({
    url: target.secureUrl,
    server_name: 'dc1.belay.test',
    ca: target.ca,
    directory: 'active_directory',
    bind_dn: target.admin.dn,
    password: target.admin.password,
    people_base: people,
    groups_base: groups,
    ...more,
  });
  const sidOf = async (dn: string) => {
    const { searchEntries } = await admin.search(dn, {
      scope: 'base',
      attributes: ['objectSid'],
      explicitBufferAttributes: ['objectSid'],
    });
    const sid = searchEntries[0]?.objectSid as Buffer;
    const parts = Array.from({ length: sid.readUInt8(1) }, (_, index) => sid.readUInt32LE(8 + 4 * index));
    return ['S-1', sid.readUIntBE(2, 6), ...parts].join('-');
  };
  const permitTo = async (dn: string, entry: string) => {
    const by = ['-H', target.url, '-U', `Administrator%${target.admin.password}`];
    await promisify(execFile)(programs.sambaTool, ['dsacl', 'set', ...by, `--objectdn=${dn}`, `--sddl=${entry}`]);
  };
  return {
    target,
    password,
    permit: async (dn, cn, attribute) => permitTo(dn, `(OA;;WP;${attribute};;${await sidOf(groupDn(cn))})`),
    permitMembers: async (dn) => {
      const [member, group] = ['bf9679c0-0de6-11d0-a285-00aa003049e2', 'bf967a9c-0de6-11d0-a285-00aa003049e2'];
      await permitTo(groups, `(OA;CIIO;RPWP;${member};${group};${await sidOf(dn)})`);
    },
    relativeId: async (dn) => (await sidOf(dn)).split('-').at(-1) ?? '',
    write: (client, dn, type, value) =>
      client
        .modify(dn, new Change({ operation: 'replace', modification: new Attribute({ type, values: [value] }) }))
        .then(
          () => true,
          (error) => {
            if (error.code === 50) return false;
            throw error;
          },
        ),
    admin,
    people,
    groups,
    groupDn,
    settings,
    change,
    signIn,
    async person(login = `p${randomUUID().slice(0, 8)}`) {
      const dn = `CN=${login},${people}`;
      await admin.add(dn, { objectClass: 'user', sAMAccountName: login, mail: `${login}@example.test` });
      await change(dn, 'replace', 'unicodePwd', [Buffer.from(`"${password}"`, 'utf16le')]);
      await change(dn, 'replace', 'userAccountControl', ['512']);
      return dn;
    },
    async group(cn = `g${randomUUID().slice(0, 8)}`) {
      await admin.add(groupDn(cn), { objectClass: 'group', sAMAccountName: cn });
      return cn;
    },
    async members(cn) {
      const { searchEntries } = await admin.search(groupDn(cn), { scope: 'base', attributes: ['member'] });
      return [searchEntries[0]?.member ?? []].flat().map(String);
    },
    connect: async (more) =>
      ldapConnector.create(ldapConnector.config.parse(settings(more)), { log: () => {}, now: () => Date.now() }),
    async [Symbol.asyncDispose]() {
      await admin.unbind();
      await target[Symbol.asyncDispose]();
    },
  };
}
