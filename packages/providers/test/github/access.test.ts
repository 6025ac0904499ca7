import { generateKeyPairSync } from 'node:crypto';
import { meanwhile } from '@belay/targets';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OtherTarget, Retryable, Terminal } from '../../src/errors.js';
import type { ProviderClient } from '../../src/index.js';
import type { ByNames, NamedEntitlement } from '../../src/testkit/index.js';
import { everythingIn, faultOf } from '../support/tools.js';
import { authorizerOf, entitlement, type Organization, openOrganization } from './github.js';

const calm = () => new AbortController().signal;
const until = new Date('2100-01-01T00:00:00.000Z');
const team = { role: 'team/oncall' };
const inShop = { role: 'repo-role/maintain', repository: 'acme/shop' };
const orgRole = { role: 'org-role/all_repo_read' };

let organization: Organization;
let client: ProviderClient;
let authorizer: ByNames;

beforeAll(async () => {
  organization = await openOrganization({ people: 120 });
  client = await organization.client();
  authorizer = authorizerOf(client);
});
afterAll(() => organization?.close());

/** Returns a person and an entitlement of theirs, pinned as core does it. */
async function one(access: NamedEntitlement['access']) {
  const person = await organization.person();
  const named = entitlement(person.id, access);
  const pin = await authorizer.pin(named, calm());
  if (!pin) throw new Error('no pin');
  return { ...person, held: { ...named, pin }, user: String(person.id) };
}

let files = 0;
/** Returns whether a person can write to the repository now, by a call of their own. */
async function canWrite(login: string): Promise<boolean> {
  files += 1;
  const body = { message: 'try', content: 'eA==' };
  const answer = await organization.github.call(login, 'PUT', `/repos/acme/shop/contents/file-${files}`, body);
  return answer.status === 201;
}

/** Makes a team, with this person in it when a login is given. */
async function makeTeam(name: string, login?: string) {
  await organization.admin('POST', '/orgs/acme/teams', { name });
  if (login) await organization.admin('PUT', `/orgs/acme/teams/${name}/memberships/${login}`, { role: 'member' });
}

describe('the github connector, from the side of the person', () => {
  it.each([
    ['a team', team],
    ['a role in a repository', inShop],
  ])('makes the same call be rejected, work, and be rejected again, by %s', async (_, access) => {
    const { login, held } = await one(access);
    const other = await organization.person();
    expect(await canWrite(login)).toBe(false);
    await authorizer.ensurePresent(held, until, calm());
    expect([await canWrite(login), await canWrite(other.login)]).toEqual([true, false]);
    await authorizer.ensureAbsent(held, calm());
    expect(await canWrite(login)).toBe(false);
  });
});

describe('accounts that get nothing', () => {
  it.each([
    ['team', team],
    ['role in a repository', inShop],
    ['organization role', orgRole],
  ])('are those outside of the organization, who would be invited to a %s', async (_, access) => {
    const outside = entitlement(await organization.idOf('outsider-1'), access);
    const fault = await faultOf(authorizer.ensurePresent(outside, until, calm()));
    expect(fault).toBeInstanceOf(Terminal);
    expect(fault.message).toBe('The GitHub account is not an active member of the organization');
    expect(organization.github.world.invitations()).toEqual([]);
    expect(await authorizer.holds(outside, calm())).toBe(false);
  });

  it('are those that are invited to the organization and have not accepted', async () => {
    const held = entitlement(await organization.idOf('outsider-2'), inShop);
    organization.github.world.invite('outsider-2', 'oncall');
    await expect(authorizer.ensurePresent(held, until, calm())).rejects.toThrow('not an active member');
    const invited = entitlement(await organization.idOf('outsider-2'), team);
    expect(await authorizer.holds(invited, calm())).toBe(false);
    await authorizer.ensureAbsent(invited, calm());
    expect(organization.github.world.invitations()).toEqual([]);
  });

  it.each([
    ['team', team],
    ['role in a repository', inShop],
    ['organization role', orgRole],
  ])('are owners, who have standing access, for a %s', async (_, access) => {
    const owner = entitlement(await organization.idOf('admin'), access);
    await expect(authorizer.ensurePresent(owner, until, calm())).rejects.toThrow('is an owner of the organization');
  });

  it.each(['0', '-1', '1e3', '9'.repeat(300), 'person-1', '99999999'])(
    'are %j, which GitHub does not have',
    async (user) => {
      const held = { ...entitlement(1, team), identity: user };
      await expect(authorizer.ensurePresent(held, until, calm())).rejects.toBeInstanceOf(Terminal);
      expect(await authorizer.holds(held, calm())).toBe(false);
      expect(await authorizer.pin(held, calm())).toBeNull();
      await authorizer.ensureAbsent(held, calm());
    },
  );
});

describe('teams that are not granted', () => {
  it.each(['sync', 'external', 'ldap'] as const)('are those that an identity provider fills: %s', async (by) => {
    await makeTeam(`filled-${by}`);
    organization.github.world.fill(`filled-${by}`, by);
    const { held } = await one({ role: `team/filled-${by}` });
    await expect(authorizer.ensurePresent(held, until, calm())).rejects.toThrow(
      'An identity provider manages the members of the team',
    );
    expect((await organization.held()).filter((line) => line.startsWith('filled'))).toEqual([]);
  });

  it('are those with child teams, whose members GitHub shows as theirs', async () => {
    await makeTeam('parent');
    await makeTeam('child');
    organization.github.world.nest('child', 'parent');
    const { held } = await one({ role: 'team/parent' });
    await expect(authorizer.ensurePresent(held, until, calm())).rejects.toThrow('has child teams');
  });
});

describe('roles that are not granted', () => {
  it.each([
    { name: 'writes settings', permissions: ['write_organization_runners_and_runner_groups'] },
    { name: 'all_repo_admin', base_role: 'admin' },
    { name: 'unheard of', permissions: ['something_new'] },
  ])('are privileged: %j, unless allow_privileged_roles is set', async (role) => {
    organization.github.world.addOrganizationRole(role);
    const { held } = await one({ role: `org-role/${role.name}` });
    await expect(authorizer.ensurePresent(held, until, calm())).rejects.toThrow('The role is privileged');
    const allowing = authorizerOf(await organization.client({ allow_privileged_roles: true }));
    await allowing.ensurePresent(held, until, calm());
    expect(await allowing.holds(held, calm())).toBe(true);
    await allowing.ensureAbsent(held, calm());
    expect(await allowing.holds(held, calm())).toBe(false);
  });

  it('are admin of a repository, unless allow_privileged_roles is set', async () => {
    const { held } = await one({ role: 'repo-role/admin', repository: 'acme/shop' });
    await expect(authorizer.ensurePresent(held, until, calm())).rejects.toThrow('The role is privileged');
  });
});

describe('standing access', () => {
  it('is the membership of a maintainer, who stays one', async () => {
    const { held, login } = await one(team);
    await organization.admin('PUT', `/orgs/acme/teams/oncall/memberships/${login}`, { role: 'maintainer' });
    expect(await authorizer.holds(held, calm())).toBe(true);
    await authorizer.ensurePresent(held, until, calm());
    const answer = await organization.github.call('admin', 'GET', `/orgs/acme/teams/oncall/memberships/${login}`);
    expect(answer.body).toMatchObject({ role: 'maintainer' });
  });

  it.each(['read', 'admin'])('is any direct permission in the repository: %s, which is not changed', async (level) => {
    const { held, login } = await one(inShop);
    const permission = level === 'read' ? 'pull' : 'admin';
    organization.github.world.setDirect(String(organization.repository), login, permission);
    const before = await organization.held();
    expect(await authorizer.holds(held, calm())).toBe(true);
    if (level === 'read') await expect(authorizer.ensurePresent(held, until, calm())).rejects.toBeInstanceOf(Terminal);
    else await authorizer.ensurePresent(held, until, calm());
    expect(await organization.held()).toEqual(before);
  });
});

describe('what is gone', () => {
  it.each([
    ['team', team],
    ['role in a repository', inShop],
    ['organization role', orgRole],
  ])('ends the access of an account that was deleted, by a %s', async (_, access) => {
    const { held, login } = await one(access);
    await authorizer.ensurePresent(held, until, calm());
    organization.github.world.deleteUser(login);
    await authorizer.ensureAbsent(held, calm());
    expect(await authorizer.holds(held, calm())).toBe(false);
  });

  it('ends the access with a team that was deleted', async () => {
    await makeTeam('short-lived');
    const { held } = await one({ role: 'team/short-lived' });
    await authorizer.ensurePresent(held, until, calm());
    await organization.admin('DELETE', '/orgs/acme/teams/short-lived');
    await authorizer.ensureAbsent(held, calm());
    expect(await authorizer.holds(held, calm())).toBe(false);
    await makeTeam('short-lived');
    await expect(authorizer.ensurePresent(held, until, calm())).rejects.toThrow('The team does not exist');
  });

  it('does not end the access to a repository that the App merely cannot see any more', async () => {
    const { held, login } = await one(inShop);
    await authorizer.ensurePresent(held, until, calm());
    organization.github.world.hide('acme/shop');
    const faults = [
      await faultOf(authorizer.holds(held, calm())),
      await faultOf(authorizer.ensureAbsent(held, calm())),
    ];
    for (const fault of faults) expect(fault).toBeInstanceOf(Retryable);
    // The configuration says that it was deleted. GitHub does not: it was taken out of the installation.
    const config = { deleted_repositories: [organization.repository] };
    const told = authorizerOf(await organization.client(config));
    expect(await faultOf(told.ensureAbsent(held, calm()))).toBeInstanceOf(Retryable);
    expect(await faultOf(told.holds(held, calm()))).toMatchObject({
      message: expect.stringContaining('all repositories'),
    });
    organization.github.world.hide('acme/shop', false);
    expect(await told.holds(held, calm())).toBe(true);
    await told.ensureAbsent(held, calm());
    expect(await canWrite(login)).toBe(false);
  });

  it('ends the access to a repository that was deleted, when the configuration and GitHub say so', async () => {
    const { id } = (await organization.admin('POST', '/orgs/acme/repos', { name: 'short-lived' })) as { id: number };
    const { held } = await one({ role: 'repo-role/maintain', repository: 'acme/short-lived' });
    await authorizer.ensurePresent(held, until, calm());
    await organization.admin('DELETE', '/repos/acme/short-lived');
    expect(await faultOf(authorizer.ensureAbsent(held, calm()))).toBeInstanceOf(Retryable);
    const told = authorizerOf(await organization.client({ deleted_repositories: [id] }));
    await told.ensureAbsent(held, calm());
    expect(await told.holds(held, calm())).toBe(false);
  });

  it('does not end the access to a team while the App has lost its permission', async () => {
    const { held } = await one(team);
    await authorizer.ensurePresent(held, until, calm());
    organization.github.world.permit({ metadata: 'read' });
    const fault = await faultOf(authorizer.ensureAbsent(held, calm()));
    expect(fault).toBeInstanceOf(Terminal);
    await expect(authorizer.holds(held, calm())).rejects.toBeInstanceOf(Terminal);
    organization.github.world.permit({
      members: 'write',
      administration: 'write',
      organization_custom_org_roles: 'read',
    });
    expect(await authorizer.holds(held, calm())).toBe(true);
    await authorizer.ensureAbsent(held, calm());
  });

  it('is told from the same numbers in another organization', async () => {
    const { held } = await one(team);
    const elsewhere = { ...held, pin: { ...held.pin, target: 'organization 1, created 2008-01-01T00:00:00Z' } };
    await expect(authorizer.ensureAbsent(elsewhere, calm())).rejects.toBeInstanceOf(OtherTarget);
  });
});

describe('a person who leaves while they are added', () => {
  it.each([
    ['an invitation', team],
    ['an invitation to a repository', inShop],
  ])('is not left with %s', async (_, access) => {
    const { held, login } = await one(access);
    await using front = await organization.front();
    const through = authorizerOf(await organization.client({}, front.url));
    front.on(
      { method: 'PUT', times: 1 },
      meanwhile(async () => organization.github.world.leave(login)),
    );
    await expect(through.ensurePresent(held, until, calm())).rejects.toThrow('not an active member');
    expect(organization.github.world.invitations()).toEqual([]);
  });

  it('does not pass the access on to the next owner of the login', async () => {
    const { held, login } = await one(team);
    const heir = await organization.person();
    await using front = await organization.front();
    const through = authorizerOf(await organization.client({}, front.url));
    const swap = async () => {
      organization.github.world.renameUser(login, `${login}-moved`);
      organization.github.world.renameUser(heir.login, login);
    };
    front.on({ method: 'PUT', times: 1 }, meanwhile(swap));
    await expect(through.ensurePresent(held, until, calm())).rejects.toBeInstanceOf(Retryable);
    expect(await organization.held()).not.toContain(`oncall ${heir.login}`);
    await through.ensurePresent(held, until, calm());
    expect(await through.holds(held, calm())).toBe(true);
    await through.ensureAbsent(held, calm());
    expect((await organization.held()).filter((line) => line === `oncall ${login}`)).toEqual([]);
  });
});

describe('credentials', () => {
  it('that are wrong are an error for an operator, without the key', async () => {
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    const wrong = await organization.client({ private_key: privateKey });
    const fault = await faultOf(wrong.check(calm()));
    expect(fault).toBeInstanceOf(Terminal);
    expect(everythingIn(fault)).not.toContain('PRIVATE KEY');
    expect(everythingIn(fault)).not.toContain('eyJ');
  });

  it('that belong to no installation are named', async () => {
    const nowhere = await organization.client({ installation_id: 1 });
    await expect(nowhere.check(calm())).rejects.toThrow('no installation with this installation_id');
  });

  it('that have expired are renewed once, without a fault', async () => {
    const { held } = await one(team);
    await authorizer.ensurePresent(held, until, calm());
    organization.github.world.endTokens();
    expect(await authorizer.holds(held, calm())).toBe(true);
    await authorizer.ensureAbsent(held, calm());
  });

  it('of an installation that is suspended are an error, and nothing is called gone', async () => {
    const { held } = await one(team);
    await authorizer.ensurePresent(held, until, calm());
    organization.github.world.suspend();
    await expect(client.check(calm())).rejects.toThrow('is suspended');
    await expect(authorizer.holds(held, calm())).rejects.toBeInstanceOf(Terminal);
    await expect(authorizer.ensureAbsent(held, calm())).rejects.toBeInstanceOf(Terminal);
    organization.github.world.suspend(false);
    await authorizer.ensureAbsent(held, calm());
    expect(await authorizer.holds(held, calm())).toBe(false);
  });

  it('that lack something, or have too much, are named', async () => {
    organization.github.world.permit({ members: 'read' });
    await expect(client.check(calm())).rejects.toThrow('lacks the organization permission Members: Read and write');
    organization.github.world.permit({ members: 'write', contents: 'write' });
    await client.check(calm());
    expect((await client.weaknesses?.(calm()))?.map(({ message }) => message)).toEqual([
      'The GitHub App lacks the repository permission Administration: write, so repo-role cannot be granted or revoked',
      'The GitHub App lacks the organization permission Custom organization roles: read, so org-role cannot be granted or revoked',
      'The GitHub App has the permission contents: write, which it does not need',
    ]);
    organization.github.world.permit({
      members: 'write',
      administration: 'write',
      organization_custom_org_roles: 'read',
    });
    expect(await client.weaknesses?.(calm())).toEqual([]);
  });
});
