import { Terminal } from '../errors.js';
import type { Api } from './api.js';
import type { Directory } from './directory.js';
import { Denied, NotFound } from './faults.js';

/**
 * Throws a `Terminal` that names the reading permissions that the credentials lack. AWS does not report permissions in
 * advance, so reading operations are tried on existing objects. Operations without such an object, and operations that
 * change something, are not tried.
 */
export async function check(api: Api, directory: Directory, signal: AbortSignal): Promise<void> {
  const { arn: InstanceArn, store: IdentityStoreId } = await directory.instance(signal);
  const missing: string[] = [];
  const attempt = async <T>(operation: string, run: Parameters<typeof api.ask<T>>[2]): Promise<T | undefined> => {
    try {
      return await api.ask(operation, signal, run);
    } catch (error) {
      if (error instanceof Denied) missing.push(operation);
      else if (!(error instanceof NotFound)) throw error;
      return undefined;
    }
  };
  const one = { MaxResults: 1 };

  const creations = await attempt('sso:ListAccountAssignmentCreationStatus', ({ admin }, options) =>
    admin.listAccountAssignmentCreationStatus({ InstanceArn, ...one }, options),
  );
  const creation = creations?.AccountAssignmentsCreationStatus?.[0]?.RequestId;
  if (creation !== undefined) {
    await attempt('sso:DescribeAccountAssignmentCreationStatus', ({ admin }, options) =>
      admin.describeAccountAssignmentCreationStatus(
        { InstanceArn, AccountAssignmentCreationRequestId: creation },
        options,
      ),
    );
  }
  const deletions = await attempt('sso:ListAccountAssignmentDeletionStatus', ({ admin }, options) =>
    admin.listAccountAssignmentDeletionStatus({ InstanceArn, ...one }, options),
  );
  const deletion = deletions?.AccountAssignmentsDeletionStatus?.[0]?.RequestId;
  if (deletion !== undefined) {
    await attempt('sso:DescribeAccountAssignmentDeletionStatus', ({ admin }, options) =>
      admin.describeAccountAssignmentDeletionStatus(
        { InstanceArn, AccountAssignmentDeletionRequestId: deletion },
        options,
      ),
    );
  }
  const sets = await attempt('sso:ListPermissionSets', ({ admin }, options) =>
    admin.listPermissionSets({ InstanceArn, ...one }, options),
  );
  const [PermissionSetArn] = sets?.PermissionSets ?? [];
  if (PermissionSetArn !== undefined) {
    await attempt('sso:DescribePermissionSet', ({ admin }, options) =>
      admin.describePermissionSet({ InstanceArn, PermissionSetArn }, options),
    );
    const accounts = await attempt('sso:ListAccountsForProvisionedPermissionSet', ({ admin }, options) =>
      admin.listAccountsForProvisionedPermissionSet({ InstanceArn, PermissionSetArn, ...one }, options),
    );
    const [AccountId] = accounts?.AccountIds ?? [];
    if (AccountId !== undefined) {
      await attempt('sso:ListAccountAssignments', ({ admin }, options) =>
        admin.listAccountAssignments({ InstanceArn, PermissionSetArn, AccountId, ...one }, options),
      );
    }
  }
  const users = await attempt('identitystore:ListUsers', ({ store }, options) =>
    store.listUsers({ IdentityStoreId, ...one }, options),
  );
  const [user] = users?.Users ?? [];
  if (user?.UserName !== undefined) {
    const { UserId, UserName: AttributeValue } = user;
    const AlternateIdentifier = { UniqueAttribute: { AttributePath: 'userName', AttributeValue } };
    await attempt('identitystore:DescribeUser', ({ store }, options) =>
      store.describeUser({ IdentityStoreId, UserId }, options),
    );
    await attempt('identitystore:GetUserId', ({ store }, options) =>
      store.getUserId({ IdentityStoreId, AlternateIdentifier }, options),
    );
  }
  const groups = await attempt('identitystore:ListGroups', ({ store }, options) =>
    store.listGroups({ IdentityStoreId, ...one }, options),
  );
  const [group] = groups?.Groups ?? [];
  if (group?.GroupId !== undefined && group.DisplayName !== undefined) {
    const { GroupId, DisplayName: AttributeValue } = group;
    const AlternateIdentifier = { UniqueAttribute: { AttributePath: 'displayName', AttributeValue } };
    await attempt('identitystore:DescribeGroup', ({ store }, options) =>
      store.describeGroup({ IdentityStoreId, GroupId }, options),
    );
    await attempt('identitystore:GetGroupId', ({ store }, options) =>
      store.getGroupId({ IdentityStoreId, AlternateIdentifier }, options),
    );
    await attempt('sso:ListAccountAssignmentsForPrincipal', ({ admin }, options) =>
      admin.listAccountAssignmentsForPrincipal(
        { InstanceArn, PrincipalId: GroupId, PrincipalType: 'GROUP', ...one },
        options,
      ),
    );
    await attempt('identitystore:ListGroupMemberships', ({ store }, options) =>
      store.listGroupMemberships({ IdentityStoreId, GroupId, ...one }, options),
    );
    if (user?.UserId !== undefined) {
      const MemberId = { UserId: user.UserId };
      await attempt('identitystore:IsMemberInGroups', ({ store }, options) =>
        store.isMemberInGroups({ IdentityStoreId, MemberId, GroupIds: [GroupId] }, options),
      );
      await attempt('identitystore:GetGroupMembershipId', ({ store }, options) =>
        store.getGroupMembershipId({ IdentityStoreId, MemberId, GroupId }, options),
      );
    }
  }
  if (missing.length > 0) throw new Terminal(`AWS does not permit the connector to call ${missing.join(', ')}`);
}
