import { loseAnswer, loseRequest, rewrite } from '@belay/targets';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { OtherTarget, Pending, Retryable, Terminal } from '../../src/errors.js';
import type { ProviderClient } from '../../src/index.js';
import type { ByNames, NamedEntitlement } from '../../src/testkit/index.js';
import { faultOf } from '../support/tools.js';
import { accounts, fault, type IdentityCenter, management, openIdentityCenter } from './identity-center.js';
import { authorizerOf, calling, createEntitlements } from './subject.js';

const calm = () => new AbortController().signal;
const until = new Date('2100-01-01T00:00:00.000Z');
const [account = ''] = accounts;

let center: IdentityCenter;
let client: ProviderClient;
let authorizer: ByNames;
let { assignment, membership, pinned } = {} as ReturnType<typeof createEntitlements>;

beforeAll(async () => {
  center = await openIdentityCenter();
  client = await center.client();
  authorizer = authorizerOf(client);
  ({ assignment, membership, pinned } = createEntitlements(center, authorizer));
});
afterEach(() => {
  center.front.calm();
  Object.assign(center.orders, { takes: 0, failure: () => undefined, crowd: 0 });
  center.clock.now += 60_000;
});
afterAll(() => center?.close());

const another = async (config: Record<string, unknown> = {}) => authorizerOf(await center.client(config));
const present = (one: NamedEntitlement, by = authorizer) => by.ensurePresent(one, until, calm());
const absent = (one: NamedEntitlement, by = authorizer) => by.ensureAbsent(one, calm());
const holds = (one: NamedEntitlement, by = authorizer) => by.holds(one, calm());
/** Runs `work` and returns the operations that reached AWS meanwhile. */
const callsOf = async (work: () => Promise<unknown>) => {
  const before = center.calls.length;
  await work();
  return center.calls.slice(before);
};

describe('an operation of AWS', () => {
  it('is begun once, by any process, and is followed by all of them', async () => {
    const { one, set, user } = await assignment();
    const other = await another();
    center.orders.takes = 5_000;
    const calls = await callsOf(async () => {
      await expect(present(one)).rejects.toBeInstanceOf(Pending);
      await expect(present(one)).rejects.toBeInstanceOf(Pending);
      await expect(present(one, other)).rejects.toBeInstanceOf(Pending);
      expect([await holds(one), await holds(one, other)]).toEqual(['changing', 'changing']);
    });
    expect(calls.filter((call) => call === 'CreateAccountAssignment')).toHaveLength(1);
    center.clock.now += 5_000;
    await present(one, other);
    expect([await holds(one), await center.assigned(set.arn)]).toEqual([true, [user.id]]);
    await present(one);
    expect(await center.assigned(set.arn)).toEqual([user.id]);
  });

  it('that grants is waited for by a revocation of another process, which deletes nothing beside it', async () => {
    const { one, set } = await assignment();
    const other = await another();
    center.orders.takes = 5_000;
    await expect(present(one)).rejects.toBeInstanceOf(Pending);
    const calls = await callsOf(() => expect(absent(one, other)).rejects.toBeInstanceOf(Pending));
    expect(calls).not.toContain('DeleteAccountAssignment');
    center.clock.now += 5_000;
    await expect(absent(one, other)).rejects.toBeInstanceOf(Pending);
    expect(await holds(one, other)).toBe('changing');
    center.clock.now += 5_000;
    await absent(one, other);
    expect([await holds(one), await center.assigned(set.arn)]).toEqual([false, []]);
  });

  it('that revokes is waited for by a grant, which creates nothing beside it', async () => {
    const { one } = await assignment();
    const other = await another();
    await present(one);
    center.orders.takes = 5_000;
    await expect(absent(one)).rejects.toBeInstanceOf(Pending);
    const calls = await callsOf(() => expect(present(one, other)).rejects.toBeInstanceOf(Pending));
    expect(calls).not.toContain('CreateAccountAssignment');
    center.clock.now += 5_000;
    expect(await holds(one)).toBe(false);
  });

  it.each([
    ['Received a 403 status error: Access denied by IAM of arn:secret', 'it was denied access to the account'],
    ['LimitExceeded: roles quota of arn:secret', 'a quota of the account is used up'],
    ['Account arn:secret is suspended', 'the account is suspended or closed'],
    [
      'Received a 404 status error: arn:secret not found',
      'it did not find the account, the permission set or the user',
    ],
    ['arn:secret', 'the operation failed'],
  ])('that fails with %j ends the grant, and a revocation tries again', async (failure, told) => {
    const { one } = await assignment();
    center.orders.failure = () => failure;
    const refused = await faultOf(present(one));
    expect(refused).toBeInstanceOf(Terminal);
    expect(refused.message).toBe(`AWS could not assign the permission set: ${told}`);
    expect(await holds(one)).toBe(false);
    center.orders.failure = () => undefined;
    await present(one);
    center.orders.failure = () => failure;
    const failed = await faultOf(absent(one));
    expect(failed).toBeInstanceOf(Retryable);
    expect(failed.message).not.toContain('secret');
    expect(await holds(one)).toBe(true);
    center.orders.failure = () => undefined;
    await absent(one);
    expect(await holds(one)).toBe(false);
  });

  it('that is in conflict with others is tried again, and counts for nothing', async () => {
    const { one } = await assignment();
    center.front.on(
      { ...calling('CreateAccountAssignment'), times: 1 },
      { name: 'conflict', run: async () => fault('ConflictException') },
    );
    await expect(present(one)).rejects.toBeInstanceOf(Retryable);
    expect(await holds(one)).toBe(false);
    await present(one);
    center.front.on(
      { ...calling('DeleteAccountAssignment'), times: 1 },
      { name: 'conflict', run: async () => fault('ConflictException') },
    );
    await expect(absent(one)).rejects.toBeInstanceOf(Retryable);
    await absent(one);
    expect(await holds(one)).toBe(false);
  });
});

describe('the list of assignments', () => {
  const empty = rewrite((reply) => ({ ...reply, body: { AccountAssignments: [] } }));

  it('counts, and not the success that an operation reports', async () => {
    const { one } = await assignment();
    const calm = center.front.on(calling('ListAccountAssignments'), empty);
    await present(one);
    expect(await holds(one)).toBe(false);
    calm();
    expect(await holds(one)).toBe(true);
    const full = center.front.on(
      { ...calling('ListAccountAssignments') },
      rewrite((reply) => ({
        ...reply,
        body: {
          AccountAssignments: [
            { PrincipalId: one.pin && (one.pin.subject as { user: string }).user, PrincipalType: 'USER' },
          ],
        },
      })),
    );
    await expect(absent(one)).rejects.toThrow('AWS still lists the assignment after its deletion');
    full();
    expect(await holds(one)).toBe(false);
  });

  it('does not end a revocation by lagging behind the grant of the same process', async () => {
    const { one, set } = await assignment();
    await present(one);
    center.front.on(calling('ListAccountAssignments'), empty);
    await absent(one);
    expect(await center.assigned(set.arn)).toEqual([]);
  });

  it('does not keep a revocation from ending when another deleted the assignment', async () => {
    const { one, set, user } = await assignment();
    await present(one);
    await center.call('DeleteAccountAssignment', {
      ...{ InstanceArn: center.instance, PermissionSetArn: set.arn, TargetId: account, TargetType: 'AWS_ACCOUNT' },
      ...{ PrincipalId: user.id, PrincipalType: 'USER' },
    });
    await absent(one).catch((error) => expect(error).toBeInstanceOf(Retryable));
    await absent(one);
    expect(await holds(one)).toBe(false);
  });

  it.each([{}, { AccountAssignments: null }, 'a page of a proxy'])('that is %j settles nothing', async (body) => {
    const { one } = await assignment();
    await present(one);
    center.front.on(calling('ListAccountAssignments'), {
      name: 'other shape',
      run: async () => ({ status: 200, body }),
    });
    await expect(holds(one)).rejects.toBeInstanceOf(Retryable);
    const other = await another();
    await expect(absent(one, other)).rejects.toBeInstanceOf(Retryable);
    center.front.calm();
    await absent(one);
  });
});

describe('permission sets and accounts that are not granted', () => {
  it('have longer sessions than max_session_duration, which is the residual', async () => {
    const { one } = await assignment('PT2H');
    await expect(present(one)).rejects.toThrow(
      'Sessions of the permission set last longer than max_session_duration (PT1H)',
    );
    const allowing = await another({ max_session_duration: 'PT2H' });
    await present(one, allowing);
    expect([allowing.residual, allowing.residualOf?.(one.access)]).toEqual(['PT2H', 'PT2H']);
    await absent(one, allowing);
  });

  it('are in the management account, unless allow_management_account is set', async () => {
    const { one, set } = await assignment('PT1H', management);
    await expect(present(one)).rejects.toThrow(
      'management account of the organization; to permit this, set allow_management_account',
    );
    expect(await center.assigned(set.arn, management)).toEqual([]);
    const allowing = await another({ allow_management_account: true });
    await present(one, allowing);
    expect(await holds(one)).toBe(true);
    await absent(one, allowing);
  });

  it('do not exist', async () => {
    const { one, user, set } = await assignment();
    const unknown = await pinned(user.name, { permission_set: set.name, account: '999999999999' });
    await expect(present(unknown)).rejects.toBeInstanceOf(Terminal);
    await center.call('DeletePermissionSet', { InstanceArn: center.instance, PermissionSetArn: set.arn });
    await expect(present(one)).rejects.toThrow('The permission set does not exist');
    expect(await holds(one)).toBe(false);
    await absent(one);
  });

  it('were pinned at another instance, or as access of no kind that is known', async () => {
    const { one } = await assignment();
    const elsewhere = { ...one, pin: { target: 'another', subject: one.pin?.subject ?? null } };
    for (const call of [present, absent, holds]) await expect(call(elsewhere)).rejects.toBeInstanceOf(OtherTarget);
    const wrong = { ...one, pin: { target: one.pin?.target ?? '', subject: { another: 'kind' } } };
    for (const call of [present, absent, holds]) await expect(call(wrong)).rejects.toBeInstanceOf(Terminal);
  });
});

describe('groups', () => {
  it('of an external identity provider are rejected', async () => {
    const { one, group } = await membership();
    center.orders.provisioned.add(group.id);
    await expect(present(one)).rejects.toThrow('provisioned by an external identity provider');
    expect(await center.members(group.id)).toEqual([]);
  });

  it('that lead to the management account, or to longer sessions, are rejected', async () => {
    const { one, group } = await membership();
    const [short, long] = [await center.permissionSet(), await center.permissionSet('PT12H')];
    await center.assign(short.arn, group.id, 'GROUP');
    await present(one);
    await absent(one);
    await center.assign(short.arn, group.id, 'GROUP', management);
    await expect(present(one)).rejects.toThrow('allow_management_account');
    const { one: other, group: second } = await membership();
    await center.assign(long.arn, second.id, 'GROUP');
    await expect(present(other)).rejects.toThrow('max_session_duration');
    expect([await center.members(group.id), await center.members(second.id)]).toEqual([[], []]);
  });

  it('have a member once, also when another was faster', async () => {
    const { one, group, user } = await membership();
    center.front.on(
      { ...calling('CreateGroupMembership'), times: 1 },
      {
        name: 'faster',
        async run(exchange) {
          await center.join(group.id, user.id);
          return exchange.forward();
        },
      },
    );
    await present(one);
    expect(await center.members(group.id)).toEqual([user.id]);
    await absent(one);
    expect(await center.members(group.id)).toEqual([]);
  });

  it('lose their members by a revocation although a read lags', async () => {
    const { one, group } = await membership();
    await present(one);
    const missing = fault('ResourceNotFoundException', { ResourceType: 'GROUP_MEMBERSHIP' });
    center.front.on({ ...calling('GetGroupMembershipId'), times: 1 }, { name: 'lag', run: async () => missing });
    await absent(one);
    expect(await center.members(group.id)).toEqual([]);
  });

  it('that were renamed or deleted while they were held lose nothing but themselves', async () => {
    const { one, group, user } = await membership();
    await present(one);
    center.newNames.set(group.id, 'Renamed group');
    const stranger = await center.group();
    center.newNames.set(stranger.id, group.name);
    await center.join(stranger.id, user.id);
    expect(await holds(one)).toBe(true);
    await absent(one);
    expect([await center.members(group.id), await center.members(stranger.id)]).toEqual([[], [user.id]]);
    await center.call('DeleteGroup', { IdentityStoreId: center.store, GroupId: group.id });
    expect(await holds(one)).toBe(false);
    await absent(one);
    await expect(present(one)).rejects.toThrow('The group does not exist');
  });
});

describe('a user who was deleted', () => {
  it('leaves an assignment behind, which is found by its identifier and removed', async () => {
    const { one, set, user } = await assignment();
    await present(one);
    await center.call('DeleteUser', { IdentityStoreId: center.store, UserId: user.id });
    const namesake = await center.user(user.name);
    await center.assign(set.arn, namesake.id);
    expect(await holds(one)).toBe(true);
    await absent(one);
    expect(await center.assigned(set.arn)).toEqual([namesake.id]);
    await expect(present(one)).rejects.toBeInstanceOf(Terminal);
  });
});

describe('standing access', () => {
  it('is seen before a grant, and is not made twice', async () => {
    const { one, set, user } = await assignment();
    await center.assign(set.arn, user.id);
    expect(await holds(one)).toBe(true);
    await present(one);
    expect(await center.assigned(set.arn)).toEqual([user.id]);
  });

  it('of a group to the same permission set stays as it is', async () => {
    const { one, set } = await assignment();
    const group = await center.group();
    await center.assign(set.arn, group.id, 'GROUP');
    expect(await holds(one)).toBe(false);
    await present(one);
    await absent(one);
    expect(await center.assigned(set.arn)).toEqual([group.id]);
  });
});

describe('a network that loses', () => {
  it.each(['assignment', 'membership'])('answers or requests about an %s leaves no access behind', async (kind) => {
    const { one } = kind === 'assignment' ? await assignment() : await membership();
    const task = kind === 'assignment' ? 'AccountAssignment' : 'GroupMembership';
    center.front.on({ ...calling(`Create${task}`), times: 1 }, loseAnswer);
    await expect(present(one)).rejects.toBeInstanceOf(Retryable);
    expect(await holds(one, await another())).toBe(true);
    for (const act of [loseRequest, loseAnswer]) {
      center.front.on({ ...calling(`Delete${task}`), times: 1 }, act);
      await expect(absent(one)).rejects.toBeInstanceOf(Retryable);
    }
    await absent(one).catch((error) => expect(error).toBeInstanceOf(Retryable));
    await absent(one);
    expect(await holds(one)).toBe(false);
  });
});
