import { Terminal } from '../errors.js';
import type { Authorizer } from '../port.js';
import type { Api } from './api.js';
import type { OktaConfig } from './config.js';
import { findGroup, readPin, resolve, type Subject } from './subject.js';

/** Statuses of users who can sign in, or can after they have set their password or are unlocked. */
const usable = ['ACTIVE', 'PROVISIONED', 'PASSWORD_EXPIRED', 'RECOVERY', 'LOCKED_OUT'];

/** Creates the authorizer: membership of Okta's own groups. */
export function createAuthorizer(config: OktaConfig, api: Api): Authorizer {
  /** Throws `Terminal` for a group that may not be granted. */
  async function checkGroup(id: string, signal: AbortSignal): Promise<void> {
    const group = await api.group(id, signal);
    if (!group) throw new Terminal('The group does not exist at Okta');
    if (group.type !== 'OKTA_GROUP') {
      throw new Terminal('The group is filled by an application, a directory or Okta itself; use a group of Okta');
    }
    if ((await api.filledByRules(signal)).has(id)) {
      throw new Terminal('The group is filled by a group rule: a revocation would exclude the person from the rule');
    }
    if (!config.allow_privileged_groups && (await api.isPrivileged(id, signal))) {
      throw new Terminal(
        'The members of the group are administrators of Okta, and allow_privileged_groups is not set for this provider',
      );
    }
  }

  async function checkUser(id: string, signal: AbortSignal): Promise<void> {
    const user = await api.user(id, signal);
    if (!user) throw new Terminal('The user does not exist at Okta');
    if (!usable.includes(user.status)) throw new Terminal('The user is not active at Okta');
  }

  async function isMember({ group, user }: Subject, signal: AbortSignal): Promise<boolean> {
    for await (const { id } of api.groupsOf(user, signal)) if (id === group) return true;
    return false;
  }

  /** Throws `Terminal` if the membership still exists: a group or user that the connector's admin role hides looks deleted, too. */
  async function confirmGone(subject: Subject, signal: AbortSignal): Promise<void> {
    let member = await isMember(subject, signal);
    if (!member && !(await api.user(subject.user, signal))) {
      for await (const { id } of api.members(subject.group, signal)) member ||= id === subject.user;
    }
    if (member) throw new Terminal('Okta does not permit the connector to change a membership that exists');
  }

  return {
    residual: config.residual,
    leavesBehind: config.end_sessions
      ? 'Sessions that applications keep by themselves continue until they expire.'
      : 'Sessions at applications continue, and tokens with the claim groups stay valid, until they expire.',
    knows: true,

    target: (signal) => api.organization(signal),

    async pin(named, signal) {
      const pin = await resolve(api, named, signal);
      if (pin) await checkGroup(pin.subject.group, signal);
      return pin;
    },

    async holds(entitlement, signal) {
      return isMember(await readPin(api, entitlement, signal), signal);
    },

    async ensurePresent(entitlement, _until, signal) {
      const { group, user } = await readPin(api, entitlement, signal);
      await checkGroup(group, signal);
      await checkUser(user, signal);
      await api.addMember(group, user, signal);
    },

    async ensureAbsent(entitlement, signal) {
      const subject = await readPin(api, entitlement, signal);
      const { group, user } = subject;
      // The membership is not read first: the list can lag, and the removal would be skipped.
      if (!(await api.removeMember(group, user, signal))) await confirmGone(subject, signal);
      if (config.end_sessions) await api.endSessions(user, signal);
    },

    async *list(signal) {
      const target = await api.organization(signal);
      let missing = false;
      for (const name of config.exclusive) {
        const group = await findGroup(api, name, signal);
        missing ||= !group;
        if (!group) continue;
        for await (const user of api.members(group.id, signal)) {
          const pin = { target, subject: { group: group.id, user: user.id } };
          yield { id: '', identity: user.profile.login, access: { group: name }, pin };
        }
      }
      // Thrown last, so that a renamed group does not hide the members of the other groups.
      if (missing) throw new Terminal('exclusive: a group of this list does not exist');
    },

    async roles(signal) {
      const found: { name: string; arn: string; description: string }[] = [];
      for await (const { profile } of api.groups({ filter: 'type eq "OKTA_GROUP"' }, signal)) {
        const name = `group/${profile.name}`;
        found.push({ name, arn: name, description: profile.description ?? '' });
      }
      return found;
    },

    // Only the applications know what a group permits.
    permissions: async () => [],
  };
}
