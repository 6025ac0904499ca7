import { LeftToOthers, Retryable, Terminal } from '../errors.js';
import type { LdapConfig } from './config.js';
import { code, codeOf } from './faults.js';
import { isPrimary } from './refuse.js';
import { type Entry, type Session, withoutFeature } from './session.js';
import { findPersonById, idOf, type Subject } from './subject.js';

/** The codes for a value that is already present: of OpenLDAP, and of Active Directory. */
const isAlready: readonly (number | undefined)[] = [code.valueExists, code.entryExists];
/** The codes for a value that is not present: of OpenLDAP, and of Active Directory, whose code has other causes too. */
const isNot: readonly (number | undefined)[] = [code.noSuchAttribute, code.unwilling];

/**
 * How many times to try a removal that Active Directory rejects although the value is present. Each time that another call adds
 * the value again meanwhile uses up one of them.
 */
const removals = 5;

/** Returns whether the person is a member of the group, under the current name or a former one, or by the primary group. */
export async function holds(session: Session, config: LdapConfig, subject: Subject): Promise<boolean> {
  const { group, person } = subject;
  if (!group) return false;
  if (person && isPrimary(group, person)) return true;
  const values = [...(person ? [person.dn] : []), ...subject.former.map(({ name }) => name)];
  for (const value of values) if (await hasValue(session, config, group, value)) return true;
  return false;
}

/**
 * Adds the person to the group, for `seconds` or without an end for null. A membership that ends earlier is extended; one that
 * ends later, or never, is kept. Throws `Retryable` when the group or the person was renamed meanwhile; a membership
 * under the person's former name is removed first.
 */
export async function add(
  session: Session,
  config: LdapConfig,
  { group, person, seconds }: { group: Entry; person: Entry; seconds: number | null },
): Promise<void> {
  const value = seconds === null ? person.dn : `<TTL=${seconds},${person.dn}>`;
  let added = true;
  try {
    await session.change(group.dn, config.member_attribute, { add: value });
  } catch (error) {
    const result = codeOf(error);
    if (result === code.noSuchObject) throw renamed(error);
    if (seconds !== null && result === code.invalidName) {
      throw new Terminal(`member_ttl: ${withoutFeature}`, { cause: error });
    }
    if (!isAlready.includes(result)) throw error;
    added = false;
    if (seconds === null) {
      if (!(await hasValue(session, config, group, person.dn))) throw crossed(error);
    } else {
      const left = await session.timeToLive(group.dn, config.member_attribute, person.dn);
      if (left === null) throw crossed(error);
      // Both in one operation, so that the person is a member all the time.
      if (left < seconds) await session.change(group.dn, config.member_attribute, { remove: person.dn, add: value });
    }
  }
  // OpenLDAP accepts names that no entry has, and the name may belong to another person now.
  const again = await findPersonById(session, config, idOf(person, config) ?? '');
  if (again?.dn === person.dn) return;
  if (added) await remove(session, config, group, person.dn);
  throw renamed();
}

/**
 * Removes the person from the group, under every name under which Belay can have added them. A former name that another entry has
 * now is left: it can be that person's own membership. Throws `LeftToOthers`, which names it.
 */
export async function removeAll(session: Session, config: LdapConfig, subject: Subject): Promise<void> {
  const { group, person, former } = subject;
  if (!group) return;
  if (person) await remove(session, config, group, person.dn);
  const left: string[] = [];
  for (const { name, taken } of former) {
    if (!taken) await remove(session, config, group, name);
    else if (await hasValue(session, config, group, name)) left.push(name);
  }
  if (person && isPrimary(group, person)) {
    throw new Retryable('The group has become the primary group of the person: set another primary group first');
  }
  if (left.length > 0) {
    throw new LeftToOthers(
      `The group has the member ${left.sort().join(' and ')}, under which Belay granted, and which is the name of another entry now`,
    );
  }
}

async function remove(
  session: Session,
  config: LdapConfig,
  group: Entry,
  value: string,
  tries = removals,
): Promise<void> {
  const attribute = config.member_attribute;
  try {
    await session.change(group.dn, attribute, { remove: value });
  } catch (error) {
    const result = codeOf(error);
    if (result === code.noSuchObject) throw renamed(error);
    if (result === code.objectClassViolation) return removeLast(session, config, group, value, error);
    // A text that cannot be a name cannot be a member either.
    if (result === code.invalidSyntax || result === code.invalidName) return;
    if (!isNot.includes(result)) throw error;
    if (!(await hasValue(session, config, group, value))) return;
    if (result !== code.unwilling) throw crossed(error);
    // Active Directory also returns `unwilling` for a value that another call has added since. If the code persists, it
    // is a rejection.
    if (tries <= 1) throw error;
    await remove(session, config, group, value, tries - 1);
  }
}

/** Replaces the last member by the placeholder in a group that may not be empty: a holder may have removed the other members. */
async function removeLast(
  session: Session,
  config: LdapConfig,
  group: Entry,
  value: string,
  cause: unknown,
): Promise<void> {
  if (config.placeholder_member !== undefined) {
    return session.change(group.dn, config.member_attribute, { remove: value, add: config.placeholder_member });
  }
  throw new Retryable(
    'The holder is the only member of a group that may not be empty: add another member, or set placeholder_member',
    { cause },
  );
}

async function hasValue(session: Session, config: LdapConfig, group: Entry, value: string): Promise<boolean> {
  try {
    return await session.has(group.dn, config.member_attribute, value);
  } catch (error) {
    // The group was found a moment ago, so it has another name now and may still have the member.
    if (codeOf(error) === code.noSuchObject) throw renamed(error);
    throw error;
  }
}

function crossed(cause: unknown): Retryable {
  return new Retryable('The membership was changed by another call at the same time', { cause });
}

function renamed(cause?: unknown): Retryable {
  return new Retryable('The group or the person was renamed during the call', { cause });
}
