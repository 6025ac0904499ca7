import { Retryable, Terminal } from '../errors.js';
import type { Membership } from './access.js';
import { type Api, present, readPages } from './api.js';
import type { AwsConfig } from './config.js';
import { type Directory, refuseAccount, refuseSession } from './directory.js';
import { Conflict } from './faults.js';
import { keyOf } from './operations.js';

/** Creates the part that grants direct membership of groups of the identity store. */
export function createMemberships(config: AwsConfig, api: Api, directory: Directory) {
  /** Identifiers of memberships that this process created and has not deleted: a read that lags must not end a revocation. */
  const created = new Map<string, string>();
  const idsOf = async ({ group, user }: Membership, signal: AbortSignal) => ({
    IdentityStoreId: (await directory.instance(signal)).store,
    GroupId: group,
    MemberId: { UserId: user },
  });

  async function isMember(membership: Membership, signal: AbortSignal): Promise<boolean> {
    const { GroupId, ...ids } = await idsOf(membership, signal);
    const found = await api.find('identitystore:IsMemberInGroups', signal, ({ store }, options) =>
      store.isMemberInGroups({ ...ids, GroupIds: [GroupId] }, options),
    );
    if (!found) return false;
    return present(present(found.Results).find((one) => one.GroupId === GroupId)?.MembershipExists);
  }

  /** Throws `Terminal` when the group does not exist, another directory owns it, or it gives more than the configuration permits. */
  async function refuse(group: string, signal: AbortSignal): Promise<void> {
    const instance = await directory.instance(signal);
    const found = await api.find('identitystore:DescribeGroup', signal, ({ store }, options) =>
      store.describeGroup({ IdentityStoreId: instance.store, GroupId: group }, options),
    );
    if (!found) throw new Terminal('The group does not exist');
    if ((found.ExternalIds ?? []).length > 0) {
      throw new Terminal(
        'The group is provisioned by an external identity provider, which would overwrite the change; ' +
          'use a group of IAM Identity Center itself, or grant at the identity provider',
      );
    }
    const sets = new Set<string>();
    for await (const { account, permissionSet } of readAssignments(group, signal)) {
      refuseAccount(config, instance, account);
      sets.add(permissionSet);
    }
    for (const arn of sets) {
      const set = await directory.permissionSet(arn, signal);
      if (set) refuseSession(config, set);
    }
  }

  function readAssignments(group: string, signal: AbortSignal) {
    const input = { InstanceArn: config.instance, PrincipalId: group, PrincipalType: 'GROUP' as const };
    return readPages(async (NextToken) => {
      const page = await api.ask('sso:ListAccountAssignmentsForPrincipal', signal, ({ admin }, options) =>
        admin.listAccountAssignmentsForPrincipal({ ...input, MaxResults: 100, NextToken }, options),
      );
      const items = page.AccountAssignments?.map((each) => ({
        account: present(each.AccountId),
        permissionSet: present(each.PermissionSetArn),
      }));
      return { items, next: page.NextToken };
    });
  }

  return {
    holds: isMember,

    /** Yields the users in a group; none when the group does not exist. */
    async *readMembers(group: string, signal: AbortSignal): AsyncGenerator<string> {
      const { store: IdentityStoreId } = await directory.instance(signal);
      const members = readPages(async (NextToken) => {
        const page = await api.find('identitystore:ListGroupMemberships', signal, ({ store }, options) =>
          store.listGroupMemberships({ IdentityStoreId, GroupId: group, MaxResults: 100, NextToken }, options),
        );
        return page ? { items: page.GroupMemberships, next: page.NextToken } : { items: [], next: undefined };
      });
      for await (const { MemberId } of members) if (MemberId?.UserId) yield MemberId.UserId;
    },

    async ensurePresent(membership: Membership, signal: AbortSignal): Promise<void> {
      if (await isMember(membership, signal)) return;
      await refuse(membership.group, signal);
      const input = await idsOf(membership, signal);
      try {
        const { MembershipId } = await api.ask('identitystore:CreateGroupMembership', signal, ({ store }, options) =>
          store.createGroupMembership(input, options),
        );
        created.set(keyOf(membership), present(MembershipId));
      } catch (error) {
        // Another caller created the membership, or the group is changing: a read of the membership tells which.
        if (!(error instanceof Conflict) || !(await isMember(membership, signal))) throw error;
      }
    },

    async ensureAbsent(membership: Membership, signal: AbortSignal): Promise<void> {
      const { IdentityStoreId, ...ids } = await idsOf(membership, signal);
      const found = await api.find('identitystore:GetGroupMembershipId', signal, ({ store }, options) =>
        store.getGroupMembershipId({ IdentityStoreId, ...ids }, options),
      );
      const MembershipId = found ? present(found.MembershipId) : created.get(keyOf(membership));
      if (MembershipId === undefined) return;
      await api.find('identitystore:DeleteGroupMembership', signal, ({ store }, options) =>
        store.deleteGroupMembership({ IdentityStoreId, MembershipId }, options),
      );
      created.delete(keyOf(membership));
      if (await isMember(membership, signal)) throw new Retryable('AWS still has the membership after its deletion');
    },
  };
}
