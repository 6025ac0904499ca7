import { answer, type Front } from '@belay/targets';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Pending, Retryable, Terminal } from '../../src/errors.js';
import type { ByNames, NamedEntitlement } from '../../src/testkit/index.js';
import { scope, startTenant, subscription, type Tenant } from './tenant.js';
import type { Group, PlaceName } from './world.js';

const calm = () => new AbortController().signal;
const hour = 3_600_000;
const kinds = { group: 'groups', directory: 'directory_roles', azure: 'azure_roles' };
const places = ['group', 'directory', 'azure'] as const;
const all = Object.values(kinds);

let tenant: Tenant;
let front: Front;
beforeEach(async () => {
  tenant = await startTenant();
  front = await tenant.front();
});
afterEach(async () => {
  await front[Symbol.asyncDispose]();
  await tenant[Symbol.asyncDispose]();
});

const open = (config: Record<string, unknown> = {}) => tenant.authorizer(config, front.url);
const until = (hours = 1) => new Date(tenant.clock.now + hours * hour);
const pinned = async (authorizer: ByNames, place: PlaceName) => {
  const { userId, what, ...ref } = await tenant.fresh(place);
  const pin = await authorizer.pin(ref, calm());
  if (!pin) throw new Error('no pin');
  return { one: { userId, what }, held: { ...ref, pin } as NamedEntitlement };
};

describe.each(places)('%s with an end at Entra', (place) => {
  it('ends by the clock of Entra while Belay is stopped', async () => {
    const authorizer = await open({ pim: all });
    const { one, held } = await pinned(authorizer, place);
    await authorizer.ensurePresent(held, until(), calm());
    tenant.clock.now += hour - 1_000;
    expect([await authorizer.holds(held, calm()), tenant.held(place, one)]).toEqual([true, true]);
    tenant.clock.now += 1_000;
    expect([await authorizer.holds(held, calm()), tenant.held(place, one)]).toEqual([false, false]);
    await authorizer.ensureAbsent(held, calm());
  });

  it('waits for the five minutes in which Entra ends no assignment', async () => {
    tenant.keepsFiveMinutes = true;
    const authorizer = await open({ pim: all });
    const { one, held } = await pinned(authorizer, place);
    await authorizer.ensurePresent(held, until(), calm());
    await expect(authorizer.ensureAbsent(held, calm())).rejects.toBeInstanceOf(Pending);
    tenant.clock.now += 300_000;
    await authorizer.ensureAbsent(held, calm());
    expect(tenant.held(place, one)).toBe(false);
  });

  it('is revoked as it was granted when pim is changed meanwhile', async () => {
    const [before, after] = [await open({ pim: all }), await open()];
    const { one, held } = await pinned(before, place);
    await before.ensurePresent(held, until(), calm());
    expect(await after.holds(held, calm())).toBe(true);
    await after.ensureAbsent(held, calm());
    expect(tenant.held(place, one)).toBe(false);
    const { one: plain, held: kept } = await pinned(after, place);
    await after.ensurePresent(kept, until(), calm());
    await before.ensureAbsent(kept, calm());
    expect(tenant.held(place, plain)).toBe(false);
  });

  it('says which setting to change without a licence, and that a policy rejects it', async () => {
    const authorizer = await open({ pim: all });
    const { held } = await pinned(authorizer, place);
    tenant.licensed = false;
    await expect(authorizer.ensurePresent(held, until(), calm())).rejects.toThrow('leave this kind out of pim');
    tenant.licensed = true;
    tenant.longest = hour / 2;
    await expect(authorizer.ensurePresent(held, until(), calm())).rejects.toThrow('The policy of Privileged Identity');
    expect(await authorizer.holds(held, calm())).toBe(false);
  });

  it('is not called revoked while a grant that the list does not show yet is being carried out', async () => {
    const authorizer = await open({ pim: all });
    const { one, held } = await pinned(authorizer, place);
    tenant.lag = 30_000;
    tenant.putOff.add(one.userId);
    await expect(authorizer.ensurePresent(held, until(), calm())).rejects.toBeInstanceOf(Pending);
    const another = await open({ pim: all });
    for (const by of [authorizer, another]) await expect(by.ensureAbsent(held, calm())).rejects.toBeInstanceOf(Pending);
    expect(await authorizer.holds(held, calm())).toBe('changing');
    tenant.requests.at(-1)?.apply();
    tenant.putOff.clear();
    await another.ensureAbsent(held, calm());
    expect(tenant.held(place, one)).toBe(false);
  });

  it('is ended when an administrator has made it last meanwhile', async () => {
    const authorizer = await open({ pim: all });
    const { one, held } = await pinned(authorizer, place);
    await authorizer.ensurePresent(held, until(), calm());
    for (const schedule of tenant.schedules) schedule.end = undefined;
    await authorizer.ensurePresent(held, until(5), calm());
    expect(tenant.schedules.map(({ end }) => end)).toEqual([undefined]);
    await authorizer.ensureAbsent(held, calm());
    expect(tenant.held(place, one)).toBe(false);
  });
});

describe.each(places)('%s', (place) => {
  it.each([
    ['without an end', {}],
    ['with an end', { pim: all }],
  ])('%s is gone with its account, and with the group or scope', async (_name, config) => {
    const authorizer = await open(config);
    const [first, second] = [await pinned(authorizer, place), await pinned(authorizer, place)];
    for (const { held } of [first, second]) await authorizer.ensurePresent(held, until(), calm());
    tenant.users.delete(first.one.userId);
    for (const [name, one] of tenant.azureAssignments)
      if (one.principalId === first.one.userId) tenant.azureAssignments.delete(name);
    tenant.groups.delete(second.one.what);
    if (place === 'azure') {
      tenant.scopes.delete(scope.toLowerCase());
      tenant.azureAssignments.clear();
    }
    if (place !== 'directory') tenant.schedules.splice(0);
    tenant.clock.now += 60_000;
    for (const { held } of [first, second]) {
      await authorizer.ensureAbsent(held, calm());
      expect(await authorizer.holds(held, calm())).toBe(false);
    }
    await expect(authorizer.ensurePresent(first.held, until(), calm())).rejects.toBeInstanceOf(Terminal);
  });

  it('that stands is seen and left as it is by a grant', async () => {
    const authorizer = await open({ pim: all });
    const { one, held } = await pinned(await open(), place);
    if (place === 'group') tenant.members.add(`${one.what} ${one.userId}`, 0);
    if (place === 'directory') tenant.directoryAssignments.add(`${one.what} ${one.userId}`, 0);
    const given = { roleDefinitionId: one.what, principalId: one.userId, principalType: 'User' };
    if (place === 'azure') tenant.azureAssignments.set('by-hand', { name: 'by-hand', scope, ...given });
    for (const by of [authorizer, await open()]) {
      const pin = await by.pin(held, calm());
      const own = { ...held, ...(pin && { pin }) };
      expect(await by.holds(own, calm())).toBe(true);
      await by.ensurePresent(own, until(), calm());
    }
    expect(tenant.schedules).toEqual([]);
    if (place === 'azure') {
      // The assignment does not have our name: a revocation leaves and names it, and the access still counts as held.
      await expect(authorizer.ensureAbsent(held, calm())).rejects.toMatchObject({
        name: 'LeftToOthers',
        message: 'The role is also given by the role assignment by-hand, which Belay does not remove',
      });
      expect(await authorizer.holds(held, calm())).toBe(true);
      expect([...tenant.azureAssignments.keys()]).toEqual(['by-hand']);
    }
  });

  it('is an error, and no revocation, where the connector may not see it any more', async () => {
    const authorizer = await open();
    const { held } = await pinned(authorizer, place);
    await authorizer.ensurePresent(held, until(), calm());
    front.on({ path: /members|roleAssignments/ }, answer({ status: 403, body: {} }));
    await expect(authorizer.ensureAbsent(held, calm())).rejects.toBeInstanceOf(Terminal);
    await expect(authorizer.holds(held, calm())).rejects.toBeInstanceOf(Terminal);
  });

  it('goes by identifiers when names are given to others meanwhile', async () => {
    const authorizer = await open();
    const { one, held } = await pinned(authorizer, place);
    await authorizer.ensurePresent(held, until(), calm());
    const user = tenant.users.get(one.userId);
    if (user) user.userPrincipalName = 'renamed@example.com';
    const heir = tenant.user({ userPrincipalName: held.identity });
    const group = tenant.groups.get(one.what);
    const namesake = tenant.group({ displayName: group?.displayName ?? '' });
    if (group) group.displayName = 'Renamed';
    tenant.members.add(`${namesake.id} ${heir.id}`, tenant.clock.now);
    await authorizer.ensureAbsent(held, calm());
    expect(tenant.held(place, one)).toBe(false);
    expect(tenant.members.has(`${namesake.id} ${heir.id}`, tenant.clock.now)).toBe(true);
  });
});

describe('groups', () => {
  const rejected: [string, Partial<Group>, string][] = [
    ['dynamic', { groupTypes: ['DynamicMembership'], membershipRule: 'user.department -eq "x"' }, 'is dynamic'],
    ['synchronised', { onPremisesSyncEnabled: true }, 'is synchronised'],
    ['role-assignable', { isAssignableToRole: true }, 'allow_role_assignable_groups'],
    ['of Exchange', { mailEnabled: true }, 'one of Exchange'],
    [
      'with hidden members',
      { groupTypes: ['Unified'], mailEnabled: true, visibility: 'HiddenMembership' },
      'hides its members',
    ],
  ];
  it.each(rejected)('that are %s are not granted', async (_name, given, message) => {
    const authorizer = await open();
    const group = tenant.group(given);
    const one = { id: 'e', identity: tenant.user().userPrincipalName, access: { group: group.displayName } };
    await expect(authorizer.ensurePresent(one, until(), calm())).rejects.toThrow(message);
    expect(front.journal.filter(({ method, path }) => method === 'POST' && !path.includes('oauth2'))).toEqual([]);
  });

  it('that are role-assignable are granted when they are named, by name or identifier', async () => {
    const group = tenant.group({ displayName: 'Tier 1', isAssignableToRole: true });
    for (const name of ['Tier 1', group.id]) {
      const authorizer = await open({ allow_role_assignable_groups: [name] });
      const one = { id: 'e', identity: tenant.user().userPrincipalName, access: { group: group.id } };
      await authorizer.ensurePresent(one, until(), calm());
      expect(await authorizer.holds(one, calm())).toBe(true);
    }
  });

  it('of one name are no guess: the object ID tells them apart', async () => {
    const authorizer = await open();
    const [first] = [tenant.group({ displayName: 'Twins' }), tenant.group({ displayName: 'Twins' })];
    const one = { id: 'e', identity: tenant.user().userPrincipalName, access: { group: 'Twins' } };
    await expect(authorizer.pin(one, calm())).rejects.toThrow('Several groups have this name');
    const byId = { ...one, access: { group: first?.id ?? '' } };
    const pin = await authorizer.pin(byId, calm());
    expect(pin?.subject).toMatchObject({ what: first?.id });
    // A rule that denies the name counts for the object ID too, and the other way round.
    expect(pin && (await authorizer.aliases?.(pin, calm()))).toEqual([`group/${first?.id}`, 'group/Twins']);
    await authorizer.ensurePresent(byId, until(), calm());
    expect(await authorizer.holds(byId, calm())).toBe(true);
    const { obstacles } = await tenant.client({}, front.url);
    const told = await obstacles?.([one.access, byId.access], calm());
    expect(told).toMatchObject([{ access: one.access, cure: expect.stringContaining('group/<object ID>') }]);
    tenant.group({ displayName: 'twins' });
    const other = tenant.group({ displayName: "O'Brien's 100% #1 & ünï" });
    const odd = await authorizer.pin({ ...one, access: { group: other.displayName } }, calm());
    expect(odd?.subject).toMatchObject({ what: other.id });
  });

  it('of 5,000 are changed without reading the others, and listed over pages when they are exclusive', async () => {
    const group = tenant.group({ displayName: 'Crowd' });
    for (let each = 0; each < 5_000; each += 1) tenant.members.add(`${group.id} ${tenant.user().id}`, 0);
    const before = JSON.stringify(tenant.members.keys(tenant.clock.now));
    const authorizer = await open({ exclusive: ['group/Gone', 'group/Crowd'] });
    const { userId: _user, what: _what, ...ref } = await tenant.fresh('group');
    const one = { ...ref, access: { group: 'Crowd' } };
    await authorizer.ensurePresent(one, until(), calm());
    expect(await authorizer.holds(one, calm())).toBe(true);
    await authorizer.ensureAbsent(one, calm());
    expect(JSON.stringify(tenant.members.keys(tenant.clock.now))).toBe(before);
    expect(front.journal.length).toBeLessThan(25);
    const found = new Set<string>();
    const list = async () => {
      for await (const { identity } of authorizer.list?.(calm()) ?? []) found.add(identity);
    };
    // A missing group is reported after the members of the others.
    await expect(list()).rejects.toThrow('exclusive');
    expect(found.size).toBe(5_000);
    expect(front.journal.filter(({ path }) => path.includes('microsoft.graph.user')).length).toBeGreaterThanOrEqual(3);
  });
});

describe('roles', () => {
  it.each([
    ['assigns roles', ['microsoft.directory/roleAssignments/allProperties/allTasks']],
    ['resets passwords', ['microsoft.directory/users/password/update']],
    ['makes credentials', ['microsoft.directory/applications/credentials/update']],
    ['changes sign-in methods', ['microsoft.directory/users/authenticationMethods/basic/update']],
    ['adds sign-in methods', ['microsoft.directory/users/authenticationMethods/create']],
    ['adds members to groups', ['microsoft.directory/groups/members/update']],
    ['adds members to some groups', ['microsoft.directory/groups.security.assignedMembership/members/update']],
    ['changes whom a group takes by a rule', ['microsoft.directory/groups/dynamicMembershipRule/update']],
    ['makes themselves an owner of applications', ['microsoft.directory/applications.myOrganization/owners/update']],
    ['gives permissions to applications', ['microsoft.directory/servicePrincipals/appRoleAssignedTo/update']],
    [
      'consents to permissions of applications',
      ['microsoft.directory/servicePrincipals/managePermissionGrantsForAll.microsoft-company-admin'],
    ],
  ])('of the directory whose holder %s are privileged', async (_name, actions) => {
    const name = tenant.directoryRole(undefined, actions);
    const one = { id: 'e', identity: tenant.user().userPrincipalName, access: { directory_role: name } };
    await expect((await open()).ensurePresent(one, until(), calm())).rejects.toThrow('allow_privileged_roles');
    await (await open({ allow_privileged_roles: true })).ensurePresent(one, until(), calm());
  });

  it.each([
    ['Owner', ['*'], [], true],
    ['User Access Administrator', ['*/read', 'Microsoft.Authorization/*'], [], true],
    [
      'Contributor',
      ['*'],
      [
        'Microsoft.Authorization/*/Delete',
        'Microsoft.Authorization/*/Write',
        'Microsoft.Authorization/elevateAccess/Action',
      ],
      true,
    ],
    ['Managed Identity Contributor', ['Microsoft.ManagedIdentity/userAssignedIdentities/*/write'], [], true],
    [
      'Contributor without federation',
      ['*'],
      [
        'Microsoft.Authorization/*/Write',
        'Microsoft.Authorization/elevateAccess/Action',
        'Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials/*',
      ],
      false,
    ],
    ['Virtual Machine Contributor', ['Microsoft.Compute/virtualMachines/*'], [], false],
    ['Reader', ['*/read'], [], false],
  ])('of Azure are privileged when they can give more: %s', async (name, actions, notActions, privileged) => {
    tenant.azureRole(name, actions, notActions);
    const one = { id: 'e', identity: tenant.user().userPrincipalName, access: { azure_role: name, scope } };
    const granted = (await open()).ensurePresent(one, until(), calm());
    if (privileged) await expect(granted).rejects.toThrow('allow_privileged_roles');
    else await granted;
  });

  it('of Azure on another scope, or of another person, are left as they are', async () => {
    const authorizer = await open();
    const { one, held } = await pinned(authorizer, 'azure');
    const given = { roleDefinitionId: one.what, principalType: 'User' };
    tenant.azureAssignments.set('above', { name: 'above', scope: subscription, principalId: one.userId, ...given });
    tenant.azureAssignments.set('other', { name: 'other', scope, principalId: tenant.user().id, ...given });
    expect(await authorizer.holds(held, calm())).toBe(false);
    await authorizer.ensurePresent(held, until(), calm());
    expect([...tenant.azureAssignments.values()].at(-1)?.description).toBe(`Belay ${held.id}`);
    await authorizer.ensureAbsent(held, calm());
    expect([...tenant.azureAssignments.keys()]).toEqual(['above', 'other']);
  });
});

describe('accounts', () => {
  it.each([
    ['disabled', { accountEnabled: false }, 'disabled'],
    ['guests', { userType: 'Guest' as const }, 'allow_guests'],
    ['guests by their name', { userPrincipalName: 'rita_example.org#EXT#@example.com' }, 'allow_guests'],
  ])('that are %s are granted nothing, and lose what they have', async (_name, given, message) => {
    const authorizer = await open();
    const user = tenant.user(given);
    const group = tenant.group();
    const one = { id: 'e', identity: user.userPrincipalName, access: { group: group.displayName } };
    await expect(authorizer.ensurePresent(one, until(), calm())).rejects.toThrow(message);
    tenant.members.add(`${group.id} ${user.id}`, tenant.clock.now);
    expect(await authorizer.holds(one, calm())).toBe(true);
    await authorizer.ensureAbsent(one, calm());
    expect(await authorizer.holds(one, calm())).toBe(false);
  });

  it('are signed out by a revocation when that is set, and a throttle there is repeated', async () => {
    tenant.permissions.add('User.RevokeSessions.All');
    const authorizer = await open({ end_sign_ins: true });
    const { held } = await pinned(authorizer, 'group');
    await authorizer.ensurePresent(held, until(), calm());
    front.on({ path: /revokeSignInSessions/, times: 1 }, answer({ status: 503, body: {} }));
    await expect(authorizer.ensureAbsent(held, calm())).rejects.toBeInstanceOf(Retryable);
    // The membership is already gone, but the process knows that it removed the membership.
    await authorizer.ensureAbsent(held, calm());
    expect(front.journal.filter(({ path }) => path.includes('revokeSignInSessions'))).toHaveLength(2);
  });
});
