import { z } from 'zod';
import { OtherTarget, Terminal } from '../errors.js';
import type { Entitlement, Named } from '../port.js';
import { dialectOf, type LdapConfig, membership } from './config.js';
import type { Condition, Entry, Session } from './session.js';

const identifier = z.string().regex(/^[\da-f]{32}$/);

/** A membership by identifiers that a rename does not change: entryUUID, and objectGUID in Active Directory. */
const pinned = z.strictObject({ group: identifier, person: identifier });

export type Ids = z.infer<typeof pinned>;

/** The attributes that are read of a group: those that identify it, and those by which it may not be granted. */
const groupAttributes = ['cn', 'objectClass', 'memberURL', 'objectSid', 'adminCount', 'groupType', 'description'];
const personAttributes = ['primaryGroupID', 'objectSid'];

/** The parts of a membership as they are now; null for what does not exist. */
export interface Subject {
  group: Entry | null;
  person: Entry | null;
  /** Whether the person has one of the names that were committed. */
  isNamed: boolean;
  /** The names under which the access may have been granted, and which are no longer the person's. */
  former: readonly Former[];
}

export interface Former {
  name: string;
  /** Whether another entry has the name now. */
  taken: boolean;
}

/** Returns the naming context that contains a base. Throws `Terminal` when no naming context of the server does. */
export async function findContext(session: Session, base: string, key: string): Promise<string> {
  const root = await session.read('', ['namingContexts']);
  const contexts = (root?.texts('namingContexts') ?? [])
    .filter((context) => context !== '' && isBelow(base, context))
    .sort((one, other) => other.length - one.length);
  if (contexts[0] !== undefined) return contexts[0];
  throw new Terminal(`${key} is in no naming context of the directory`);
}

function isBelow(dn: string, base: string): boolean {
  const fold = (text: string) => text.toLowerCase().replace(/\s*([,=])\s*/g, '$1');
  return fold(dn) === fold(base) || fold(dn).endsWith(`,${fold(base)}`);
}

/** Returns the fingerprint: the identifier of the entry at the top of the naming context that contains the groups. */
export async function readTarget(session: Session, config: LdapConfig): Promise<string> {
  const { id } = dialectOf(config);
  const top = await session.read(await findContext(session, config.groups_base, 'groups_base'), [id]);
  const found = top && idOf(top, config);
  if (found) return found;
  throw new Terminal("The connector's account cannot read the entry at the top of the directory");
}

/** Returns the identifier of an entry as 32 hexadecimal digits, or undefined when the account may not read it. */
export function idOf(entry: Entry, config: LdapConfig): string | undefined {
  const { active, id } = dialectOf(config);
  const text = active ? entry.bytes(id)[0]?.toString('hex') : entry.texts(id)[0]?.replaceAll('-', '').toLowerCase();
  return identifier.safeParse(text).data;
}

/** Returns the condition that an entry has this identifier. */
function hasId(id: string, config: LdapConfig): Condition {
  const dialect = dialectOf(config);
  if (dialect.active) return { is: dialect.id, value: Buffer.from(id, 'hex') };
  const parts = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/.exec(id)?.slice(1) ?? [];
  return { is: dialect.id, value: parts.join('-') };
}

/** Returns the group and the person with these names. Throws `Terminal` when the access does not belong to this connector. */
export async function findByNames(session: Session, config: LdapConfig, { identity, access }: Named): Promise<Subject> {
  const named = membership.safeParse(access);
  if (!named.success) throw new Terminal('The access is not a membership of a group');
  const group = await findGroup(session, config, named.data.group);
  return { group, person: group && (await findPerson(session, config, identity)), isNamed: true, former: [] };
}

/** Returns the group and the person of an entitlement, by its pin and only at the pinned target (throws `OtherTarget` elsewhere). */
export async function findSubject(session: Session, config: LdapConfig, { pin, names }: Entitlement): Promise<Subject> {
  const ids = pinned.safeParse(pin.subject);
  if (!ids.success) throw new Terminal('The stored identifiers are not those of a group and its member');
  if ((await readTarget(session, config)) !== pin.target) throw new OtherTarget();
  const group = await findById(session, config, 'groups_base', ids.data.group);
  const known = [...new Set(names.map(({ identity }) => identity))].filter(isName);
  return { group, ...(await findPinnedPerson(session, config, ids.data.person, known)) };
}

/**
 * Returns the identifiers of a subject, or null when a part of it does not exist. Throws `Terminal` when the account
 * cannot read them.
 */
export function idsOf({ group, person }: Pick<Subject, 'group' | 'person'>, config: LdapConfig): Ids | null {
  if (!group || !person) return null;
  const ids = { group: idOf(group, config), person: idOf(person, config) };
  if (ids.group && ids.person) return { group: ids.group, person: ids.person };
  throw new Terminal("The connector's account cannot read the identifiers of groups and people");
}

/**
 * Returns the person, and the names of theirs that the server may have left in groups after a rename. A server that keeps references
 * leaves none, so any name of the person can be written there.
 */
async function findPinnedPerson(
  session: Session,
  config: LdapConfig,
  id: string,
  names: readonly string[],
): Promise<Omit<Subject, 'group'>> {
  const dialect = dialectOf(config);
  let person: Entry | null = null;
  const former: Former[] = [];
  for (const name of names) {
    const named = await session.read(name, [dialect.id, ...personAttributes]);
    if (named && idOf(named, config) === id) person = named;
    else former.push({ name, taken: named !== null });
  }
  const isNamed = person !== null;
  person ??= await findById(session, config, 'people_base', id);
  if (dialect.active || config.referential_integrity) return { person, isNamed: true, former: [] };
  return { person, isNamed, former };
}

/** Searches the whole naming context, because an entry that was moved is still the same. */
async function findById(
  session: Session,
  config: LdapConfig,
  base: 'groups_base' | 'people_base',
  id: string,
): Promise<Entry | null> {
  const context = await findContext(session, config[base], base);
  const attributes = [dialectOf(config).id, ...(base === 'groups_base' ? groupAttributes : personAttributes)];
  const [found] = await session.find(context, hasId(id, config), attributes);
  return found ?? null;
}

/** Returns the group below the base that has exactly this name. Throws `Terminal` when several have it. */
export async function findGroup(session: Session, config: LdapConfig, name: string): Promise<Entry | null> {
  if (name === '') return null;
  const condition: Condition = { all: [isGroup(config), { is: 'cn', value: name }] };
  const found = await session.find(config.groups_base, condition, [dialectOf(config).id, ...groupAttributes], 50);
  // A directory ignores case and spaces, and some ignore accents: such names are other groups.
  const exact = found.filter((group) => group.texts('cn').includes(name));
  if (exact.length > 1) throw new Terminal('More than one group has this name below groups_base');
  return exact[0] ?? null;
}

/** Returns the condition that an entry is a group of one of the kinds that this connector knows. */
export function isGroup(config: LdapConfig): Condition {
  return { any: dialectOf(config).groupClasses.map((value) => ({ is: 'objectClass', value })) };
}

/** Returns the entry of this name if it is one of a person below the base, or null. */
export async function findPerson(
  session: Session,
  config: LdapConfig,
  dn: string,
  attributes: readonly string[] = personAttributes,
): Promise<Entry | null> {
  const named = isName(dn) ? await session.read(dn, [dialectOf(config).id]) : null;
  const id = named && idOf(named, config);
  return id ? findPersonById(session, config, id, attributes) : null;
}

/** Returns the person below the base with this identifier, or null. */
export async function findPersonById(
  session: Session,
  config: LdapConfig,
  id: string,
  attributes: readonly string[] = personAttributes,
): Promise<Entry | null> {
  const dialect = dialectOf(config);
  const condition: Condition = { all: [hasId(id, config), { filter: dialect.people }] };
  const [found] = await session.find(config.people_base, condition, [dialect.id, ...attributes]);
  return found ?? null;
}

/** Returns whether a text can be a name. The empty name is the server itself, and Active Directory accepts `<SID=…>` as a name. */
function isName(text: string): boolean {
  return text !== '' && !text.startsWith('<') && !text.includes('\0');
}
