import {
  authorizeSession,
  beginLogin,
  compileCatalog,
  completeLogin,
  completeSession,
  createToken,
  exchangeLoginCode,
  inspectSession,
  issueSession,
  listInbox,
  listSessions,
  verifyLogin,
  withActor,
} from '@belay/core';
import { createRegistry } from '@belay/providers';
import { describe, expect, it } from 'vitest';
import { openDoors } from './support/doors.js';
import { createPeopleProvider } from './support/people-provider.js';
import { approve, ask, request, statusOf } from './support/stories.js';

const rita = { subject: 'rita', email: 'rita@corp.example', groups: ['engineers'] };
const adam = { subject: 'adam', email: 'adam@corp.example', groups: ['approvers'] };
/** Rita's private account. It is a member of a stranger's organization that has the same name as the group of approvers. */
const private_ = { subject: '583231', email: 'rita@home.example', groups: ['approvers', 'engineers', 'acme'] };

describe('with two providers to sign in with, a group', () => {
  it('of a stranger’s organization approves nothing, under any name', async () => {
    await using doors = await openDoors({ corp: { groups: { allow: ['engineers', 'approvers'] } }, github: {} });
    const { house, signIn, corp, github } = doors;
    const id = await ask(house, await signIn(corp, { ...rita, email: 'rita@example.com' }));
    const attacker = await signIn(github, private_);
    expect(attacker.actor.groups).toEqual([]);
    expect((await listInbox(attacker)).approvals).toEqual([]);
    await expect(approve(attacker, id)).rejects.toMatchObject({ code: 'not_found' });
    await expect(request(attacker)).rejects.toMatchObject({ code: 'not_found' });
    expect(await approve(await signIn(corp, adam), id)).toMatchObject({ status: 'approved' });
  });

  it.each([
    ['none without a rule', {}, []],
    ['none that the list lacks', { groups: { allow: ['acme', 'Engineers'] } }, ['acme']],
    ['none at all with an empty list', { groups: { allow: [] } }, []],
    ['under the name that it has here, and no other', { groups: { map: { acme: 'contractors' } } }, ['contractors']],
    ['once, when two have one name here', { groups: { map: { acme: 'us', engineers: 'us' } } }, ['us']],
    ['and no property that every object has', { groups: { map: { x: 'y' } } }, []],
    ['as it is, when all pass', { groups: 'all' }, private_.groups],
  ])('passes %s', async (_what, github, passing) => {
    await using doors = await openDoors({ corp: { groups: 'all' }, github });
    const me = await doors.signIn(doors.github, { ...private_, groups: [...private_.groups, 'constructor'] });
    expect(me.actor.groups.filter((group) => group !== 'constructor')).toEqual(passing);
    expect(me.actor.groups.includes('constructor')).toBe('groups' in github && github.groups === 'all');
  });

  it('is not lent to the other identity of a person who has linked them', async () => {
    await using doors = await openDoors({ corp: { groups: 'all' }, github: {} });
    const { signIn, corp, github } = doors;
    const at = await signIn(corp, adam);
    const linked = await signIn(github, private_, at);
    expect(linked.actor).toMatchObject({ id: at.actor.id, provider: 'github', groups: [] });
  });
});

describe('a change of which groups pass counts at once', () => {
  it('for people who are signed in', async () => {
    await using doors = await openDoors({ github: {} });
    const { house, signIn, github, configure } = doors;
    const { token } = await signIn(github, private_);
    const groups = async () => (await verifyLogin(house.ctx, { token }))?.actor.groups;
    // With one sign-in provider all groups pass, because they cannot be confused with those of another provider.
    expect(await groups()).toEqual(private_.groups);
    await configure({ github: { groups: { map: { acme: 'engineers' } } } });
    expect(await groups()).toEqual(['engineers']);
    await configure({ github: {}, corp: { groups: 'all' } });
    expect(await groups()).toEqual([]);
    await configure({ github: { groups: 'all' }, corp: {} });
    expect(await groups()).toEqual(private_.groups);
    // A provider that is disabled or removed gives no groups.
    await configure({ github: { groups: 'all', enabled: false }, corp: {} });
    expect(await groups()).toEqual([]);
    await configure({ corp: {} });
    expect(await groups()).toEqual([]);
  });

  it('for a request that is in progress, and for what a program is told', async () => {
    await using doors = await openDoors({ corp: { groups: 'all' }, github: { groups: 'all' } });
    const { house, signIn, corp, github, configure } = doors;
    const me = await signIn(github, { ...private_, email: 'rita@example.com' });
    const id = await ask(house, me);
    const { session } = await issueSession(me, { provider: 'github' });
    await configure({ corp: { groups: 'all' }, github: { groups: { allow: ['acme'] } } });
    expect(await inspectSession(house.ctx, session)).toMatchObject({ user: { groups: ['acme'] } });
    await approve(await signIn(corp, adam), id);
    await house.work();
    expect(house.provider.holds('rita@example.com', { role: 'read' })).toBe(false);
    expect(await statusOf(me, id)).not.toBe('running');
  });

  it('and never for the groups that an operator gave a token', async () => {
    await using doors = await openDoors({ corp: {}, github: {} });
    const { house } = doors;
    const made = { user: 'robot@example.com', ttl: 'PT1H', groups: ['engineers'] };
    const { token } = await createToken(house.operator(), made);
    expect((await verifyLogin(house.ctx, { token }))?.actor.groups).toEqual(['engineers']);
  });
});

describe('sign_in', () => {
  const admits = {
    email_domains: ['corp.example'],
    organizations: ['acme', 'acme-labs'],
    groups: ['staff', 'contractors'],
  };
  const member = { ...rita, groups: ['staff', 'other'], organizations: ['acme'] };

  it('admits who meets each of its lists', async () => {
    await using doors = await openDoors({ github: { sign_in: admits } });
    expect((await doors.signIn(doors.github, member)).actor.email).toBe(member.email);
  });

  it.each([
    ['email_domains', { email: 'rita@home.example' }],
    ['email_domains', { email: 'rita@corp.example.evil.example' }],
    ['email_domains', { email: 'rita@sub.corp.example' }],
    ['organizations', { organizations: ['Acme', 'staff'] }],
    ['organizations', { organizations: [] }],
    ['groups', { groups: ['acme'] }],
    ['groups', { groups: [] }],
  ])('rejects who does not meet %s, before anything is stored of them', async (condition, changed) => {
    await using doors = await openDoors({ github: { name: 'GitHub', sign_in: admits } });
    const { sql } = doors.house.database;
    const refused = doors.signIn(doors.github, { ...member, ...changed });
    await expect(refused).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringMatching(
        /^GitHub confirmed your identity, but (the domain of your e-mail address|you are) .* allowed to sign in$/,
      ),
    });
    for (const table of ['users', 'user_identities', 'logins', 'sessions']) {
      expect(await sql.unsafe(`select * from ${table}`)).toHaveLength(0);
    }
    expect([...(await sql`select level, provider, actor, data from ledger where type = 'login.refused'`)]).toEqual([
      {
        level: 'warning',
        provider: 'github',
        actor: { system: 'logins' },
        data: { email: { ...member, ...changed }.email, subject: 'rita', condition: `sign_in.${condition}` },
      },
    ]);
  });

  it('takes the groups for organizations, where a provider has no others', async () => {
    await using doors = await openDoors({ github: { sign_in: { organizations: ['acme'] } } });
    const { organizations: _none, ...plain } = member;
    await expect(doors.signIn(doors.github, plain)).rejects.toMatchObject({ code: 'forbidden' });
    expect((await doors.signIn(doors.github, { ...plain, groups: ['acme'] })).actor.groups).toEqual(['acme']);
  });

  it('judges what the provider says, not what its groups are called here', async () => {
    await using doors = await openDoors({
      github: { groups: { map: { acme: 'staff' } }, sign_in: { groups: ['staff'] } },
    });
    await expect(doors.signIn(doors.github, { ...rita, groups: ['acme'] })).rejects.toMatchObject({
      code: 'forbidden',
    });
  });

  it('counts at once for people who are signed in, and no longer than it is there', async () => {
    await using doors = await openDoors({ github: { groups: 'all' } });
    const { house, signIn, github, configure } = doors;
    const me = await signIn(github, { ...private_, email: 'rita@example.com' });
    const { session } = await issueSession(me, { provider: 'github' });
    const id = await ask(house, me, { workflow: 'approved' });
    const callback = 'http://127.0.0.1:9999/cb';
    const verifier = 'a verifier of the program that is long enough to be one';
    const { createHash } = await import('node:crypto');
    const codeChallenge = createHash('sha256').update(verifier).digest('base64url');
    await beginLogin(house.ctx, { provider: 'github', browserSecret: 'b', callback, codeChallenge });
    const currentUrl = new URL(`http://x/?state=${github.asked.at(-1)?.state}&code=good`);
    const done = await completeLogin(house.ctx, { provider: 'github', currentUrl, browserSecret: 'b' });
    const code = new URL(done.callback ?? '').searchParams.get('code') ?? '';

    await configure({ github: { groups: 'all', sign_in: { organizations: ['acme-labs'] } } });
    expect(await verifyLogin(house.ctx, { token: me.token })).toBeNull();
    expect((await listSessions(me)).sessions).toEqual({});
    await expect(inspectSession(house.ctx, session)).rejects.toMatchObject({ code: 'unauthenticated' });
    await expect(exchangeLoginCode(house.ctx, { code, code_verifier: verifier })).rejects.toMatchObject({
      code: 'forbidden',
    });
    // The earlier request of the person is not granted any more.
    const { token } = await createToken(house.operator(), {
      user: 'boss@corp.example',
      ttl: 'PT1H',
      groups: ['approvers'],
    });
    const boss = await verifyLogin(house.ctx, { token });
    if (boss) await approve(withActor(house.ctx, boss.actor), id);
    await house.work();
    expect(house.provider.holds('rita@example.com', { role: 'read' })).toBe(false);
    await configure({ github: { groups: 'all' } });
    expect((await verifyLogin(house.ctx, { token: me.token }))?.actor.id).toBe(me.actor.id);
  });

  it('is requested for a session beside the login as well', async () => {
    await using doors = await openDoors({ corp: {}, github: { sign_in: { organizations: ['acme-labs'] } } });
    const { house, signIn, corp, github } = doors;
    const me = await signIn(corp, rita);
    const redirect_uri = 'http://127.0.0.1:9999/cb';
    await authorizeSession(me, { provider: 'github', scopes: [], state: 's', redirect_uri, browserSecret: 'b' });
    github.state.person = private_;
    const currentUrl = new URL(`http://x/?state=${github.asked.at(-1)?.state}&code=good`);
    await expect(
      completeSession(house.ctx, { provider: 'github', currentUrl, browserSecret: 'b', signedIn: me.actor }),
    ).rejects.toMatchObject({ code: 'forbidden' });
    expect(Object.keys((await listSessions(me)).sessions)).toEqual(['corp']);
  });
});

describe('a configuration', () => {
  const connectors = createRegistry(['corp', 'github'].map((id) => createPeopleProvider(id).connector));
  const compile = (providers: object) => compileCatalog({ providers }, { connectors, resolve: () => undefined });
  const issues = async (providers: object) => {
    const result = await compile(providers);
    return result.ok ? [] : result.issues.map(({ path, message }) => `${path}: ${message}`);
  };
  const warnings = async (providers: object) => {
    const result = await compile(providers);
    return result.ok ? result.catalog.warnings.map(({ path }) => path) : undefined;
  };

  it('is warned about each provider whose groups do not pass for want of a rule', async () => {
    const [corp, github] = [{ provider: 'corp' }, { provider: 'github' }];
    expect(await warnings({ corp })).toEqual([]);
    expect(await warnings({ corp, github: { ...github, enabled: false } })).toEqual([]);
    expect(await warnings({ corp, github: { ...github, capabilities: [] } })).toEqual([]);
    expect(await warnings({ corp, github })).toEqual(['providers.corp', 'providers.github']);
    expect(await warnings({ corp: { ...corp, groups: 'all' }, github })).toEqual(['providers.github']);
    expect(await warnings({ corp: { ...corp, groups: 'all' }, github: { ...github, groups: { allow: [] } } })).toEqual(
      [],
    );
  });

  it('is rejected with rules that are not valid, or where no person signs in', async () => {
    const github = { provider: 'github' };
    const rules = 'must be all, {allow: [group, …]} or {map: {their group: our group, …}}';
    for (const groups of ['none', ['a'], { allow: 'a' }, { allow: [], map: {} }, {}]) {
      expect(await issues({ github: { ...github, groups } })).toEqual([`providers.github.groups: ${rules}`]);
    }
    expect(await issues({ github: { ...github, groups: { map: { a: '' } } } })).toHaveLength(1);
    expect(await issues({ github: { ...github, sign_in: {} } })).toEqual([
      'providers.github.sign_in: must have email_domains, organizations or groups',
    ]);
    for (const sign_in of [
      { email_domains: [] },
      { email_domains: ['*'] },
      { groups: [] },
      { users: ['a@b.example'] },
    ]) {
      expect(await issues({ github: { ...github, sign_in } })).not.toEqual([]);
    }
    expect(
      await issues({ github: { ...github, capabilities: [], groups: 'all', sign_in: { groups: ['a'] } } }),
    ).toEqual([
      'providers.github.groups: is only allowed for providers that people sign in with',
      'providers.github.sign_in: is only allowed for providers that people sign in with',
    ]);
    expect(await issues({ operator: github })).toEqual([
      'providers.operator: is a reserved name: it is used for tokens that operators create',
    ]);
  });

  it('is rejected with an address that systems would compare differently', async () => {
    const refused = (permissions: object) => issues({ github: { provider: 'github', permissions } });
    expect(await refused({ users: ['Rita@Example.com', 'élodie@example.com'] })).toEqual([]);
    for (const user of ['İvan@example.com', 'rita', 'straße@example.com', ' rita@example.com', '"rita"@example.com']) {
      expect(await refused({ users: ['rita@example.com', user] })).toEqual([
        expect.stringMatching(
          /^providers\.github\.permissions\.users\[1\]: is not an e-mail address in canonical form/,
        ),
      ]);
    }
  });
});
