import { answer, type Front, findHeld, loseAnswer, loseRequest, misbehave, rewrite } from '@belay/targets';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Pending, Retryable, Terminal } from '../../src/errors.js';
import { type ByNames, byNames, type NamedEntitlement } from '../../src/testkit/index.js';
import { type Google, startGoogle } from './google.js';
import { settle, withoutWait } from './settle.js';

const calm = () => new AbortController().signal;
const hour = 3_600_000;
const memberships = /\/memberships/;
/** Two pages of 500 members, and one more. */
const crowd = 1_001;
/** The first faults find most defects of the connector; CI runs the long series. */
const most = process.env.CI ? 200 : 60;
const access = { group: 'oncall@example.com' };

let google: Google;
let front: Front;
let authorizer: ByNames;

beforeEach(async () => {
  google = await startGoogle();
  front = await google.front();
  authorizer = await google.authorizer({}, front.url);
});
afterEach(async () => {
  await front[Symbol.asyncDispose]();
  await google[Symbol.asyncDispose]();
});

let made = 0;
const plain = (): NamedEntitlement => {
  made += 1;
  return { id: `e-${made}`, identity: google.user(), access };
};
const pinned = async () => {
  const one = plain();
  const pin = await authorizer.pin(one, calm());
  if (!pin) throw new Error('no pin');
  return { ...one, pin };
};
const present = (one: NamedEntitlement, by = authorizer) =>
  by.ensurePresent(one, new Date(google.clock.now + hour), calm());
const absent = (one: NamedEntitlement) => authorizer.ensureAbsent(one, calm());
const holds = (one: NamedEntitlement) => authorizer.holds(one, calm());

describe('membership of a group', () => {
  it('ends by the clock of Google while Belay is stopped', async () => {
    const one = await pinned();
    await present(one);
    google.clock.now += hour - 1_000;
    expect(await holds(one)).toBe(true);
    google.clock.now += 1_000;
    expect(await holds(one)).toBe(false);
    await absent(one);
  });

  it('has all addresses of its group as names, so that a denial of one counts for the others', async () => {
    google.oncall.aliases = ['pager@example.com'];
    const one = plain();
    const asked = { ...one, access: { group: 'pager@example.com' } };
    const pin = await authorizer.pin(asked, calm());
    const names = ['oncall@example.com', 'pager@example.com', 'oncall@example.com.test-google-a.com'];
    expect(await authorizer.aliases?.({ ...asked, ...(pin ? { pin } : {}) }, calm())).toEqual(
      names.map((name) => `group/${name}`),
    );
  });

  it('has no end where the configuration says that the edition has none', async () => {
    google.ends = false;
    const one = await pinned();
    await expect(present(one)).rejects.toThrow('then set group_expiry: false');
    const client = await google.client({ group_expiry: false });
    const endless = byNames(client.authorizer);
    await present(one, endless);
    expect([...google.oncall.members.values()]).toEqual([[{ name: 'MEMBER' }]]);
    expect((await client.weaknesses?.(calm()))?.map(({ message }) => message)).toEqual([
      'Memberships of groups do not expire at Google by themselves: while Belay is stopped, they do not end',
    ]);
    await absent(one);
    expect(google.oncall.members.size).toBe(0);
  });

  it('that stands is seen, and keeps having no end', async () => {
    const one = await pinned();
    const roles = [{ name: 'MEMBER' }, { name: 'MANAGER' }];
    google.oncall.members.set(google.users[0]?.id ?? '', roles);
    expect(await holds(one)).toBe(true);
    await present(one);
    expect([...google.oncall.members.values()]).toEqual([roles]);
  });

  it.each(['dynamic', 'locked'] as const)('is not granted in a %s group', async (kind) => {
    const group = google.group(kind);
    const one = { ...plain(), access: { group: group.email } };
    await expect(present(one)).rejects.toThrow(`The group is ${kind}`);
    expect(front.journal.filter(({ method }) => method === 'POST')).toEqual([]);
  });

  it('follows a group and an account that are renamed while it is held', async () => {
    const one = await pinned();
    await present(one);
    google.oncall.email = 'renamed@example.com';
    google.rename(one.identity, 'rita@example.com');
    google.user(one.identity);
    expect(await holds(one)).toBe(true);
    await absent(one);
    expect(google.oncall.members.size).toBe(0);
  });

  it('is gone with its group, and with its account', async () => {
    const [one, other] = [await pinned(), await pinned()];
    await present(one);
    await present(other);
    google.deleteUser(one.identity);
    expect(await holds(one)).toBe(false);
    await absent(one);
    google.groups.splice(0);
    // For a minute, a membership that is not shown could still appear.
    google.clock.now += 60_000;
    expect(await holds(other)).toBe(false);
    await absent(other);
    await expect(present(other)).rejects.toThrow('The group does not exist');
  });

  it('in a group that the connector may no longer see is an error, not a revocation', async () => {
    const one = await pinned();
    await present(one);
    const hidden = answer({ status: 403, body: {} });
    front.on({ path: memberships }, hidden);
    await expect(absent(one)).rejects.toBeInstanceOf(Terminal);
    await expect(holds(one)).rejects.toBeInstanceOf(Terminal);
  });

  it('is changed in a group of 5,000 without reading the others, and leaves them as they are', async () => {
    for (let each = 0; each < 5_000; each += 1) google.oncall.members.set(`member-${each}`, [{ name: 'MEMBER' }]);
    const before = JSON.stringify([...google.oncall.members]);
    const one = await pinned();
    await present(one);
    expect(await holds(one)).toBe(true);
    await absent(one);
    expect(JSON.stringify([...google.oncall.members])).toBe(before);
    expect(front.journal.length).toBeLessThan(20);
  });

  it('of an exclusive group is listed with its pin, over 3 pages', async () => {
    for (let each = 0; each < crowd; each += 1) {
      google.user(`member-${each}@example.com`);
      google.oncall.members.set(google.users[each]?.id ?? '', [{ name: 'MEMBER' }]);
    }
    const exclusive = await google.authorizer({ exclusive: ['oncall@example.com'] }, front.url);
    const found: NamedEntitlement[] = [];
    for await (const one of exclusive.list?.(calm()) ?? []) found.push(one);
    expect(new Set(found.map(({ identity }) => identity)).size).toBe(crowd);
    expect(found.every(({ pin }) => pin !== undefined)).toBe(true);
    expect(front.journal.filter(({ path }) => path.includes('view=FULL'))).toHaveLength(3);
  });
});

describe('a group that Google changes later', () => {
  it('settles nothing while a membership is being created', async () => {
    const one = await pinned();
    google.putOff = [];
    await expect(present(one)).rejects.toBeInstanceOf(Pending);
    expect(await holds(one)).toBe('changing');
    await expect(absent(one)).rejects.toBeInstanceOf(Pending);
    for (const change of google.putOff) change();
    google.putOff = undefined;
    expect(await holds(one)).toBe(true);
    await absent(one);
    expect(await holds(one)).toBe(false);
  });

  it('settles nothing while a membership is being deleted', async () => {
    const one = await pinned();
    await present(one);
    google.putOff = [];
    await expect(absent(one)).rejects.toBeInstanceOf(Pending);
    expect(await holds(one)).toBe(true);
    for (const change of google.putOff) change();
    google.putOff = undefined;
    await absent(one);
    expect(await holds(one)).toBe(false);
  });

  it('gives up waiting a minute after a creation that never happens', async () => {
    const one = await pinned();
    google.putOff = [];
    await expect(present(one)).rejects.toBeInstanceOf(Pending);
    google.clock.now += 60_000;
    expect(await holds(one)).toBe(false);
    await absent(one);
  });
});

describe('groups through a front that misbehaves', () => {
  it('wait for a creation whose answer was lost, and end it', async () => {
    const one = await pinned();
    front.on({ method: 'POST', path: memberships, times: 1 }, loseAnswer);
    await expect(present(one)).rejects.toBeInstanceOf(Retryable);
    front.on({ path: /memberships:lookup/, times: 1 }, answer({ status: 404, body: {} }));
    await expect(absent(one)).rejects.toBeInstanceOf(Pending);
    front.on({ method: 'DELETE', times: 1 }, loseRequest);
    await expect(absent(one)).rejects.toBeInstanceOf(Retryable);
    await absent(one);
    expect(google.oncall.members.size).toBe(0);
  });

  it('take a quota that is reported with 403 for a throttle', async () => {
    const one = await pinned();
    const body = { error: { code: 403, errors: [{ reason: 'quotaExceeded' }] } };
    front.on(
      { path: /directory/, times: 1 },
      rewrite(() => ({ status: 403, body })),
    );
    await expect(absent(one)).rejects.toBeInstanceOf(Retryable);
  });

  it(`leave no access behind after ${most} faults`, async () => {
    let seed = 11;
    const random = () => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    const act = misbehave(random, 0.3);
    front.on({ when: () => true }, { ...act, run: async (exchange) => withoutWait(await act.run(exchange)) });
    const later = () => {
      google.clock.now += 20_000;
    };
    const faults = () =>
      front.journal.filter(({ answered }) => answered?.status === 'lost' || Number(answered?.status) >= 429);
    while (faults().length < most) {
      const one = plain();
      const until = new Date(google.clock.now + 100 * hour);
      await settle(() => authorizer.ensurePresent(one, until, calm()), later);
      await settle(() => absent(one), later);
    }
    const users = google.users;
    const held = findHeld(front.journal, ({ method, path, body }) => {
      if (!memberships.test(path) || method === 'GET') return undefined;
      const email = (body as { preferredMemberKey?: { id: string } } | undefined)?.preferredMemberKey?.id;
      if (method === 'DELETE') return { key: path.split('/').at(-1) ?? '', held: false };
      return email === undefined ? undefined : { key: users.find((one) => one.email === email)?.id ?? '', held: true };
    });
    expect(held.length).toBeGreaterThan(0);
    expect(held.filter(({ to }) => to === undefined)).toEqual([]);
    expect(google.oncall.members.size).toBe(0);
  });
});
