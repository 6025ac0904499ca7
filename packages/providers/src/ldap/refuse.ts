import { Terminal } from '../errors.js';
import { dialectOf, type LdapConfig } from './config.js';
import type { Entry, Session } from './session.js';
import { findPersonById, idOf, type Subject } from './subject.js';

const dynamicClasses = new Set(['groupofurls', 'dgidentity', 'dynamicobject', 'msexchdynamicdistributionlist']);

/** Returns a group and a person. Throws `Terminal` for a membership that could not be revoked, or that gives more than it seems to. */
export async function refuse(
  session: Session,
  config: LdapConfig,
  subject: Subject,
): Promise<{ group: Entry; person: Entry }> {
  const { group } = subject;
  const id = subject.person && idOf(subject.person, config);
  // Found below the base and by the filter, which may no longer match a person who was pinned.
  const person = id ? await findPersonById(session, config, id) : null;
  if (!group || !person) throw new Terminal('The group or the person does not exist');
  if (isDynamic(group)) throw new Terminal('The members of this group are computed by the directory');
  if (id === (await readOwnId(session, config))) {
    throw new Terminal("The person is the connector's own account");
  }
  if (!config.allow_privileged_groups && (await isPrivileged(session, config, group))) {
    throw new Terminal(
      'The group is one that Active Directory protects, or leads to one; set allow_privileged_groups: true to permit it',
    );
  }
  if (isPrimary(group, person)) throw new Terminal("The group is the person's primary group");
  return { group, person };
}

export function isDynamic(group: Entry): boolean {
  if (group.texts('memberURL').length > 0) return true;
  return group.texts('objectClass').some((name) => dynamicClasses.has(name.toLowerCase()));
}

/** Returns whether the group is the person's primary group: Active Directory does not list its members, but they belong to it. */
export function isPrimary(group: Entry, person: Entry): boolean {
  const [sid] = group.bytes('objectSid');
  const [own] = person.bytes('objectSid');
  const [primary] = person.texts('primaryGroupID');
  if (!sid || !own || primary === undefined) return false;
  return domainOf(sid).equals(domainOf(own)) && relativeOf(sid) === Number(primary);
}

/** Returns whether Active Directory protects a group: built in, made with the domain, or marked by AdminSDHolder. */
export function isProtected(group: Entry): boolean {
  const [sid] = group.bytes('objectSid');
  if (group.texts('adminCount').includes('1')) return true;
  if (!sid) return false;
  const builtIn = sid.length === 16 && sid.readUInt32LE(8) === 32;
  return builtIn || relativeOf(sid) < 1_000;
}

/** Returns whether Active Directory protects a group, or one in which it is nested. */
export async function isPrivileged(session: Session, config: LdapConfig, group: Entry): Promise<boolean> {
  if (!dialectOf(config).active) return false;
  if (isProtected(group)) return true;
  const above = { within: 'member', value: group.dn };
  const context = contextOf(group.dn);
  for await (const page of session.pages(context, above, ['objectSid', 'adminCount'])) {
    if (page.some(isProtected)) return true;
  }
  return false;
}

/** Returns the part of a name that is the domain's: all groups of the domain that can contain the group are below it. */
function contextOf(dn: string): string {
  return dn.slice(dn.search(/(?<=^|,)DC=/i));
}

async function readOwnId(session: Session, config: LdapConfig): Promise<string | undefined> {
  const own = await session.read(config.bind_dn, [dialectOf(config).id]);
  return own ? idOf(own, config) : undefined;
}

function relativeOf(sid: Buffer): number {
  return sid.readUInt32LE(sid.length - 4);
}

function domainOf(sid: Buffer): Buffer {
  return sid.subarray(0, -4);
}
