import * as vitest from 'vitest';
import { type Attack, byNames, hostileHolder, type Seat } from '../../src/testkit/index.js';
import { openOrganization } from './organization.js';

type Organization = Awaited<ReturnType<typeof openOrganization>>;

/** A user, and an application that admits a user whose claim `groups` contains the group at a new sign-in. */
interface Holder extends Seat {
  organization: Organization;
  user: string;
  login: string;
  group: string;
  /** The name of the group, which an attack may change. */
  own: { name: string };
}

const stop = async () => {};
/** For attacks after which only the person could use the access, which the suite tries anyway. */
const nothingElse = async () => false;
/** The public client of the emulator. */
const application = { client_id: 'okta-test-app', redirect_uri: 'http://localhost:3000/official-sdk/callback' };

/** Signs a user in at the application, and returns the groups that the application receives. */
async function signIn(url: string, user: string): Promise<string[]> {
  const base = `${url}/oauth2/default/v1`;
  const post = (path: string, fields: Record<string, string>) =>
    fetch(`${base}/${path}`, { method: 'POST', redirect: 'manual', body: new URLSearchParams(fields) });
  const answer = await post('authorize/callback', { ...application, user_ref: user, scope: 'openid groups' });
  const code = new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? '';
  const token = await post('token', { ...application, grant_type: 'authorization_code', code });
  const { access_token } = (await token.json()) as { access_token: string };
  const told = await fetch(`${base}/userinfo`, { headers: { authorization: `Bearer ${access_token}` } });
  return ((await told.json()) as { groups: string[] }).groups;
}

const attacks: Record<string, Attack<Holder>> = {
  'takes another login': async ({ organization, user }) => {
    const login = `other-${user}@example.test`;
    await organization.admin('POST', `/api/v1/users/${user}`, { profile: { login, email: login } });
    return { reaches: nothingElse, stop };
  },
  'takes another login, and another user takes theirs': async ({ organization, user, login, own }) => {
    const other = `other-${user}@example.test`;
    await organization.admin('POST', `/api/v1/users/${user}`, { profile: { login: other, email: other } });
    const namesake = await organization.user(login);
    return { reaches: async () => (await signIn(organization.url, namesake.id)).includes(own.name), stop };
  },
  'has the group renamed': async ({ organization, group, own }) => {
    own.name = `Renamed ${group}`;
    await organization.admin('PUT', `/api/v1/groups/${group}`, { profile: { name: own.name } });
    return { reaches: nothingElse, stop };
  },
  'has the group renamed, and another one takes its name': async ({ organization, group, user, own }) => {
    const before = own.name;
    own.name = `Renamed ${group}`;
    await organization.admin('PUT', `/api/v1/groups/${group}`, { profile: { name: own.name } });
    await organization.group(before);
    return { reaches: async () => (await signIn(organization.url, user)).includes(before), stop };
  },
  'is added once more by an administrator': async ({ organization, user, group }) => {
    await organization.admin('PUT', `/api/v1/groups/${group}/users/${user}`);
    return { reaches: nothingElse, stop };
  },
  'has a group rule made that fills the group with them': async ({ organization, user, group }) => {
    await organization.world.fill([group], [user]);
    return { reaches: nothingElse, stop };
  },
  'is deactivated while the access ends, and activated afterwards': async ({ organization, user, canUse }) => {
    await organization.admin('POST', `/api/v1/users/${user}/lifecycle/deactivate`);
    let isActive = false;
    return {
      async reaches() {
        if (!isActive) await organization.admin('POST', `/api/v1/users/${user}/lifecycle/activate`);
        isActive = true;
        return canUse();
      },
      stop,
    };
  },
};

hostileHolder<Holder>(vitest, 'okta', {
  // CI runs all tries.
  brief: !process.env.CI,
  attacks,
  async open() {
    const organization = await openOrganization();
    const { authorizer } = await organization.client();
    if (!authorizer) throw new Error('no authorizer');
    return {
      authorizer: byNames(authorizer),
      async seat() {
        const { groupId: group, userId: user, ...entitlement } = await organization.fresh();
        const own = { name: entitlement.access.group };
        const canUse = async () => (await signIn(organization.url, user)).includes(own.name);
        return {
          ...{ organization, user, group, own, canUse, login: entitlement.identity },
          entitlement,
          close: stop,
        };
      },
      close: () => organization.close(),
    };
  },
});
