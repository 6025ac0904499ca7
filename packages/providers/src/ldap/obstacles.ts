import type { Access, Obstacle, Weakness } from '../port.js';
import { dialectOf, type LdapConfig, membership } from './config.js';
import { code, codeOf } from './faults.js';
import { isDynamic, isPrivileged } from './refuse.js';
import type { Entry, Session } from './session.js';
import { findGroup } from './subject.js';

/** Returns the accesses whose grant the directory or this connector would reject for any person, each with its cure. */
export async function findObstacles(
  session: Session,
  config: LdapConfig,
  accesses: readonly Access[],
): Promise<Obstacle[]> {
  const found: Obstacle[] = [];
  for (const access of accesses) {
    const { group: name } = membership.parse(access);
    const obstacle = await describe(session, config, name);
    if (obstacle) found.push({ access, ...obstacle });
  }
  return found;
}

async function describe(session: Session, config: LdapConfig, name: string): Promise<Weakness | undefined> {
  const group = await findGroup(session, config, name);
  if (!group) {
    return { message: `the group ${name} does not exist below groups_base`, cure: 'create it, or offer another group' };
  }
  if (isDynamic(group)) {
    return { message: `the members of the group ${name} are computed by the directory`, cure: 'offer another group' };
  }
  if (!config.allow_privileged_groups && (await isPrivileged(session, config, group))) {
    return {
      message: `the group ${name} is one that Active Directory protects, or leads to one, so it is not granted`,
      cure: 'offer another group, or set allow_privileged_groups for the provider',
    };
  }
  if (await mayChange(session, config, group)) return undefined;
  return {
    message: `the connector's account may not change the members of the group ${name}`,
    cure: `permit it to write ${config.member_attribute} of the groups below groups_base`,
  };
}

/**
 * Returns whether the account may change the members of a group. Active Directory has an attribute for it; OpenLDAP rejects an
 * account without the permission before it finds that the value to remove does not exist.
 */
export async function mayChange(session: Session, config: LdapConfig, group: Entry): Promise<boolean> {
  if (dialectOf(config).active) {
    const entry = await session.read(group.dn, ['allowedAttributesEffective']);
    return entry?.texts('allowedAttributesEffective').includes('member') ?? false;
  }
  try {
    await session.change(group.dn, config.member_attribute, { remove: `cn=not-a-member,${config.groups_base}` });
    return true;
  } catch (error) {
    if (codeOf(error) === code.noSuchAttribute) return true;
    if (codeOf(error) === code.notPermitted) return false;
    throw error;
  }
}
