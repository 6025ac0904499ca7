import { answer, loseAnswer, rewrite, stale } from '@belay/targets';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OtherTarget, Retryable, Terminal } from '../../src/errors.js';
import type { ProviderClient } from '../../src/index.js';
import { type ByNames, byNames, type NamedEntitlement } from '../../src/testkit/index.js';
import { openOrganization } from './organization.js';

const calm = () => new AbortController().signal;
const until = new Date('2100-01-01T00:00:00.000Z');
const nowhere = 'user of no group@example.test';

let organization: Awaited<ReturnType<typeof openOrganization>>;
let authorizer: ByNames;

const authorizerOf = ({ authorizer: one }: ProviderClient): ByNames => {
  if (!one) throw new Error('no authorizer');
  return byNames(one);
};
const pin = async (one: Awaited<ReturnType<typeof organization.fresh>>, by = authorizer) => {
  const found = await by.pin(one, calm());
  if (!found) throw new Error('not pinned');
  return { ...one, pin: found };
};
const pinned = async () => pin(await organization.fresh());
const present = (one: NamedEntitlement, by = authorizer) => by.ensurePresent(one, until, calm());
const absent = (one: NamedEntitlement, by = authorizer) => by.ensureAbsent(one, calm());
const holds = (one: NamedEntitlement, by = authorizer) => by.holds(one, calm());
const through = async () => {
  const front = await organization.front();
  return { front, by: authorizerOf(await organization.client({ url: front.url })) };
};

beforeAll(async () => {
  organization = await openOrganization();
  authorizer = authorizerOf(await organization.client());
});
afterAll(() => organization?.close());

describe('groups that cannot be requested', () => {
  it.each(['APP_GROUP', 'BUILT_IN'])('rejects one of type %s, at the plan and at the grant', async (type) => {
    const [one, group] = [await organization.fresh(), await organization.group(`Filled elsewhere ${type}`, type)];
    if (type === 'APP_GROUP') organization.world.importGroup(group.id);
    const elsewhere = { ...one, access: { group: group.name } };
    await expect(authorizer.pin(elsewhere, calm())).rejects.toThrow('use a group of Okta');
    await expect(present(elsewhere)).rejects.toBeInstanceOf(Terminal);
    expect(await organization.members(group.id)).toEqual([]);
  });

  it('rejects one that a rule fills, on whichever page of the rules it is', async () => {
    for (let count = 0; count < 450; count += 1) await organization.world.fill([`00gother${count}`]);
    const one = await organization.fresh();
    await organization.world.fill(['00gother', one.groupId]);
    await expect(authorizer.pin(one, calm())).rejects.toThrow('filled by a group rule');
    await expect(present(one)).rejects.toThrow('filled by a group rule');
    expect(await organization.members(one.groupId)).toEqual([]);
    expect(organization.world.excluded()).toEqual([]);
  });

  it('rejects one whose members are administrators, unless the configuration permits it', async () => {
    const one = await organization.fresh();
    organization.world.makeAdministrators(one.groupId);
    await expect(authorizer.pin(one, calm())).rejects.toThrow('allow_privileged_groups');
    await expect(present(one)).rejects.toBeInstanceOf(Terminal);
    const permitted = authorizerOf(await organization.client({ allow_privileged_groups: true }));
    await present(one, permitted);
    const held = await pin(one, permitted);
    expect(await holds(held)).toBe(true);
    await absent(held);
  });

  it('takes the group of Okta where an application has one of the same name', async () => {
    const one = await organization.fresh();
    const { front, by } = await through();
    await using _ = front;
    const other = { id: '00gapp', type: 'APP_GROUP', profile: { name: one.access.group } };
    const withOther = rewrite((reply) => ({ ...reply, body: [other, ...JSON.parse(String(reply.body))] }));
    front.on({ path: /groups\?.*search/ }, withOther);
    expect((await by.pin(one, calm()))?.subject).toEqual({ group: one.groupId, user: one.userId });
  });
});

describe('what changes while access is held', () => {
  it('revokes from a group that a rule has come to fill, because Belay granted it before', async () => {
    const one = await pinned();
    await present(one);
    await organization.world.fill([one.groupId]);
    await absent(one);
    expect(await organization.members(one.groupId)).toEqual([]);
  });

  it('leaves the namesakes of a group and of a user that were renamed', async () => {
    const one = await pinned();
    await present(one);
    await organization.admin('PUT', `/api/v1/groups/${one.groupId}`, { profile: { name: `Old ${one.groupId}` } });
    const login = `old-${one.userId}@example.test`;
    await organization.admin('POST', `/api/v1/users/${one.userId}`, { profile: { login, email: login } });
    const [group, user] = [await organization.group(one.access.group), await organization.user(one.identity)];
    await organization.admin('PUT', `/api/v1/groups/${group.id}/users/${user.id}`);
    await absent(one);
    expect([await organization.members(one.groupId), await organization.members(group.id)]).toEqual([[], [user.id]]);
    expect(await holds(one)).toBe(false);
  });

  it('has nothing left to revoke after the group or the user was deleted', async () => {
    const [one, other] = [await pinned(), await pinned()];
    await present(one);
    await present(other);
    await organization.admin('DELETE', `/api/v1/groups/${one.groupId}`);
    // The first call deactivates, the second one deletes.
    await organization.admin('DELETE', `/api/v1/users/${other.userId}`);
    await organization.admin('DELETE', `/api/v1/users/${other.userId}`);
    for (const each of [one, other]) {
      await absent(each);
      expect(await holds(each)).toBe(false);
      await expect(present(each)).rejects.toBeInstanceOf(Terminal);
    }
  });

  it('grants nothing to a user who was deactivated, and revokes what they had', async () => {
    const one = await pinned();
    await present(one);
    await organization.admin('POST', `/api/v1/users/${one.userId}/lifecycle/deactivate`);
    await expect(present(one)).rejects.toThrow('not active');
    await absent(one);
    expect(await organization.members(one.groupId)).toEqual([]);
  });

  it('does not take "not found" for the end of a membership that Okta still shows', async () => {
    const one = await pinned();
    const { front, by } = await through();
    await using _ = front;
    await present(one, by);
    front.on({ method: 'DELETE' }, answer({ status: 404, body: { errorCode: 'E0000007' } }));
    await expect(absent(one, by)).rejects.toThrow('does not permit');
    // Now the connector cannot see the user either, but it still sees the members of the group.
    front.on({ method: 'GET', path: /\/users\/00u/ }, answer({ status: 404, body: { errorCode: 'E0000007' } }));
    await expect(absent(one, by)).rejects.toThrow('does not permit');
    front.calm();
    await absent(one, by);
    expect(await organization.members(one.groupId)).toEqual([]);
  });

  it('changes nothing at another organization behind the same address', async () => {
    const one = await pinned();
    await present(one);
    const { front, by } = await through();
    await using _ = front;
    front.on({ path: /okta-organization/ }, answer({ status: 200, body: { id: '00oother' } }));
    for (const call of [present, absent, holds]) await expect(call(one, by)).rejects.toBeInstanceOf(OtherTarget);
    expect(front.journal.every(({ path }) => path.includes('okta-organization'))).toBe(true);
    await absent(one);
  });
});

describe('reading back', () => {
  it('sends every grant and revocation, although a list lags', async () => {
    const one = await pinned();
    const { front, by } = await through();
    await using _ = front;
    expect(await holds(one, by)).toBe(false);
    front.on({ method: 'GET', path: /\/groups/ }, stale);
    await present(one, by);
    expect(await holds(one, by)).toBe(false);
    await present(one, by);
    await absent(one, by);
    expect(await organization.members(one.groupId)).toEqual([]);
    front.calm();
    expect(await holds(one, by)).toBe(false);
  });

  it('sees a membership that an administrator gave before', async () => {
    const one = await pinned();
    await organization.admin('PUT', `/api/v1/groups/${one.groupId}/users/${one.userId}`);
    expect(await holds(one)).toBe(true);
    expect(
      await holds({ ...one, identity: nowhere, pin: { ...one.pin, subject: { group: one.groupId, user: '00u1' } } }),
    ).toBe(false);
  });
});

describe('end_sessions', () => {
  it('is off: a revocation signs no one out', async () => {
    const one = await pinned();
    await present(one);
    await absent(one);
    expect(organization.world.sessionsEnded(one.userId)).toBe(0);
  });

  it('ends the sessions after the membership, and again until Okta has confirmed it', async () => {
    const one = await pinned();
    const front = await organization.front();
    await using _ = front;
    const by = authorizerOf(await organization.client({ url: front.url, end_sessions: true }));
    await present(one, by);
    expect(organization.world.sessionsEnded(one.userId)).toBe(0);
    front.on({ method: 'DELETE', path: /sessions/, times: 1 }, loseAnswer);
    await expect(absent(one, by)).rejects.toBeInstanceOf(Retryable);
    await absent(one, by);
    expect(organization.world.sessionsEnded(one.userId)).toBe(2);
    const deleted = front.journal.filter(({ method }) => method === 'DELETE').map(({ path }) => path.split('/').at(-1));
    expect(deleted).toEqual([one.userId, 'sessions?oauthTokens=true', one.userId, 'sessions?oauthTokens=true']);
  });
});

describe('the weaknesses of the setup', () => {
  it('name exclusive groups that do not exist or that something else fills too', async () => {
    const names = ['Weak by a rule', 'Weak by an application', 'Strong'];
    const [ruled, imported] = await Promise.all(names.map((name) => organization.group(name)));
    await organization.world.fill([ruled?.id ?? '']);
    organization.world.importGroup(imported?.id ?? '');
    const client = await organization.client({ exclusive: [...names, 'Gone'] });
    const messages = (await client.weaknesses?.(calm()))?.map(({ message }) => message).join();
    for (const name of ['Weak by a rule', 'Weak by an application', 'Gone']) expect(messages).toContain(name);
    expect(messages).not.toContain('Strong');
  });
});
