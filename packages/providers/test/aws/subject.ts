import type { Message } from '@belay/targets';
import { type Access, type AccessRequest, awsConnector, type ProviderClient } from '../../src/index.js';
import { type ByNames, byNames, type NamedEntitlement } from '../../src/testkit/index.js';
import { accounts, type IdentityCenter, openIdentityCenter, operationOf } from './identity-center.js';

export const nothing = { roles: [], permissions: { allow: [], deny: [] }, resources: { allow: [], deny: [] } };
export const inAccount = { allow: [`account/${accounts[0]}`], deny: [] };

/** Opens the subject of the conformance suite for one kind of access. */
export async function openSubject(unknownAccess: Access, sensible: AccessRequest) {
  const center = await openIdentityCenter();
  const config = awsConnector.config.parse({ ...center.config, endpoint: 'http://127.0.0.1:1' });
  const down = await awsConnector.create(config, { now: Date.now, log: () => {} });
  return {
    center,
    subject: {
      client: await center.client({ exclusive: ['permission-set/Exclusive', 'group/Exclusive'] }),
      down,
      plan: (request: AccessRequest) => awsConnector.plan?.(config, request) ?? { ok: false as const, issues: [] },
      nonsense: [
        { ...nothing, roles: ['permission-set/ReadOnly'] },
        { ...nothing, resources: inAccount },
        { ...nothing, roles: ['ReadOnly'], resources: inAccount },
        { ...nothing, roles: ['permission-set/'], resources: inAccount },
        { ...nothing, roles: ['permission-set/a b'], resources: inAccount },
        { ...nothing, roles: [`permission-set/${'a'.repeat(33)}`], resources: inAccount },
        { ...nothing, roles: ['permission-set/ReadOnly'], resources: { allow: ['account/123'], deny: [] } },
        { ...nothing, roles: ['permission-set/ReadOnly'], resources: { allow: ['shop'], deny: [] } },
        { ...nothing, roles: ['permission-set/ReadOnly'], resources: { ...inAccount, deny: ['account/123456789012'] } },
        { ...nothing, roles: ['group/'] },
        { ...nothing, roles: ['group/a\nb'] },
        { ...nothing, roles: ['group/Oncall'], resources: inAccount },
        { ...nothing, roles: ['group/Oncall'], permissions: { allow: ['s3:GetObject'], deny: [] } },
        { ...nothing, roles: ['group/Oncall'], permissions: { allow: [], deny: ['s3:GetObject'] } },
      ],
      sensible,
      unknownAccess,
      knowsIdentities: true,
      async close() {
        await down.close();
        await center.close();
      },
    },
  };
}

/** Returns the identifier of an entitlement's user. */
export const userOf = async (center: IdentityCenter, { identity }: NamedEntitlement) => {
  const AlternateIdentifier = { UniqueAttribute: { AttributePath: 'userName', AttributeValue: identity } };
  const body = { IdentityStoreId: center.store, AlternateIdentifier };
  return (await center.call<{ UserId: string }>('GetUserId', body)).UserId;
};

export function authorizerOf({ authorizer }: ProviderClient): ByNames {
  if (!authorizer) throw new Error('no authorizer');
  return byNames(authorizer);
}

/** Matches requests at the front that call an operation. */
export const calling = (operation: string) => ({
  when: ({ headers }: Message) => operationOf(headers['x-amz-target']) === operation,
});

/** Returns functions that make users, and entitlements with pins for them. */
export function createEntitlements(center: IdentityCenter, authorizer: ByNames) {
  const pinned = async (identity: string, access: Access): Promise<NamedEntitlement> => {
    const one = { id: `entitlement-${identity}`, identity, access };
    const pin = await authorizer.pin(one, new AbortController().signal);
    return pin ? { ...one, pin } : one;
  };
  return {
    pinned,
    async assignment(session?: string, account = accounts[0] ?? '') {
      const [user, set] = [await center.user(), await center.permissionSet(session)];
      return { user, set, one: await pinned(user.name, { permission_set: set.name, account }) };
    },
    async membership() {
      const [user, group] = [await center.user(), await center.group()];
      return { user, group, one: await pinned(user.name, { group: group.name }) };
    },
  };
}
