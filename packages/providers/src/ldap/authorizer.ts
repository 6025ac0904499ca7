import { Renamed, Terminal } from '../errors.js';
import type { Trust } from '../history.js';
import type { Authorizer, ListedEntitlement, ProviderRole } from '../port.js';
import { trustSettled } from '../trust-settled.js';
import { dialectOf, type LdapConfig } from './config.js';
import { compareIn, trustingDirectory } from './history.js';
import { add, holds, removeAll } from './members.js';
import { isDynamic, isProtected, refuse } from './refuse.js';
import type { Directory, Session } from './session.js';
import { findByNames, findGroup, findSubject, idOf, idsOf, isGroup, readTarget } from './subject.js';

/** Creates the port's `Authorizer`, which grants and revokes direct membership of groups. */
export function createAuthorizer(config: LdapConfig, directory: Directory, now: () => number): Authorizer {
  const open = (trust: Trust) => openAuthorizer(config, trustingDirectory(directory, config, trust), now);
  return { ...open(trustSettled), history: { compare: compareIn(config), trusting: open } };
}

function openAuthorizer(config: LdapConfig, directory: Directory, now: () => number): Authorizer {
  return {
    residual: dialectOf(config).residual,
    knows: true,
    // In Active Directory a change of another domain controller can arrive later.
    neverLate: !dialectOf(config).active,

    target: (signal) => directory.call(signal, (session) => readTarget(session, config)),

    pin: (named, signal) =>
      directory.call(signal, async (session) => {
        const ids = idsOf(await findByNames(session, config, named), config);
        return ids && { target: await readTarget(session, config), subject: ids };
      }),

    holds: (entitlement, signal) =>
      directory.call(signal, async (session) =>
        holds(session, config, await findSubject(session, config, entitlement)),
      ),

    ensurePresent: (entitlement, until, signal) =>
      directory.call(signal, async (session) => {
        const subject = await findSubject(session, config, entitlement);
        const { group, person } = await refuse(session, config, subject);
        // Read twice: a rename in between makes a name that was not committed.
        if (!subject.isNamed || person.dn !== subject.person?.dn)
          throw new Renamed({ identity: person.dn, access: entitlement.name.access });
        // Rounded up to whole seconds, so that the directory never ends a membership before its time.
        const seconds = Math.max(1, Math.ceil((until.getTime() - now()) / 1_000));
        await add(session, config, { group, person, seconds: config.member_ttl ? seconds : null });
      }),

    ensureAbsent: (entitlement, signal) =>
      directory.call(signal, async (session) =>
        removeAll(session, config, await findSubject(session, config, entitlement)),
      ),

    async *list(signal) {
      const missing: string[] = [];
      for (const name of config.exclusive) {
        const found = await directory.call(signal, (session) => listMembers(session, config, name));
        if (found) yield* found;
        else missing.push(name);
      }
      // Thrown last: a group that was renamed must not hide the members of the others.
      if (missing.length > 0) throw new Terminal('exclusive: a group of this list does not exist');
    },

    roles: (signal) => directory.call(signal, (session) => listGroups(session, config)),

    // A directory has the members of a group; what the group permits depends on each application.
    permissions: async () => [],
  };
}

/** Lists the groups that can be requested, without dynamic groups, and without protected groups unless they are permitted. */
async function listGroups(session: Session, config: LdapConfig): Promise<ProviderRole[]> {
  const { active, id } = dialectOf(config);
  const attributes = [id, 'cn', 'description', 'objectClass', 'memberURL', 'objectSid', 'adminCount'];
  const roles: ProviderRole[] = [];
  for await (const page of session.pages(config.groups_base, isGroup(config), attributes)) {
    for (const group of page) {
      const [name] = group.texts('cn');
      const unfit = isDynamic(group) || (active && !config.allow_privileged_groups && isProtected(group));
      if (name === undefined || unfit) continue;
      const arn = `ldap://${idOf(group, config) ?? ''}`;
      roles.push({ name: `group/${name}`, arn, description: group.texts('description')[0] ?? '' });
    }
  }
  return roles.sort((one, other) => one.name.localeCompare(other.name));
}

/**
 * Lists the members of a group that only Belay grants; null when the group does not exist. A membership has no field
 * for Belay's identifier, so `id` is empty.
 */
async function listMembers(session: Session, config: LdapConfig, name: string): Promise<ListedEntitlement[] | null> {
  const group = await findGroup(session, config, name);
  if (!group) return null;
  const { active, id } = dialectOf(config);
  const target = await readTarget(session, config);
  const found: ListedEntitlement[] = [];
  const push = (member: Parameters<typeof idOf>[0]) => {
    const ids = idsOf({ group, person: member }, config);
    if (!ids) return;
    found.push({ id: '', identity: member.dn, access: { group: name }, pin: { target, subject: ids } });
  };
  if (active) {
    const context = group.dn.slice(group.dn.search(/(?<=^|,)DC=/i));
    for await (const page of session.pages(context, { is: 'memberOf', value: group.dn }, [id])) page.forEach(push);
    return found;
  }
  const members = (await session.read(group.dn, [config.member_attribute]))?.texts(config.member_attribute) ?? [];
  for (const dn of members) {
    // The name of a deleted entry gives no person access, and neither does the placeholder.
    const member = dn === '' || dn === config.placeholder_member ? null : await session.read(dn, [id]);
    if (member) push(member);
  }
  return found;
}
