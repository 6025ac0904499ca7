import { readFile } from 'node:fs/promises';
import { answer, type Front, findHeld, loseAnswer, loseRequest, meanwhile, misbehave } from '@belay/targets';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { OtherTarget, Retryable, Terminal } from '../../src/errors.js';
import type { ByNames, NamedEntitlement } from '../../src/testkit/index.js';
import { googleSecrets } from '../support/google-server.js';
import { everythingIn, faultOf } from '../support/tools.js';
import { type Google, startGoogle } from './google.js';
import { settle, withoutWait } from './settle.js';

const calm = () => new AbortController().signal;
const setPolicy = { path: /setIamPolicy/ };
const hour = 3_600_000;
/** The first faults find most defects of the connector; CI runs the long series. */
const most = process.env.CI ? 200 : 60;

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
const plain = (permissions?: string[]): NamedEntitlement & { role: string } => {
  made += 1;
  const role = google.role(permissions);
  return { id: `e-${made}`, identity: google.user(), access: { role, resource: 'projects/shop' }, role };
};
const pinned = async (permissions?: string[]) => {
  const one = plain(permissions);
  const pin = await authorizer.pin(one, calm());
  if (!pin) throw new Error('no pin');
  return { ...one, pin };
};
const inHours = (hours: number) => new Date(google.clock.now + hours * hour);
const present = (one: NamedEntitlement, until = inHours(1)) => authorizer.ensurePresent(one, until, calm());
const absent = (one: NamedEntitlement) => authorizer.ensureAbsent(one, calm());
const holds = (one: NamedEntitlement) => authorizer.holds(one, calm());
const policy = () => JSON.stringify([google.shop.bindings, google.shop.auditConfigs]);
const sent = () => front.journal.filter(({ path }) => setPolicy.path.test(path));

describe('a role on a project, from the side of the person', () => {
  it('makes the same call be denied, permitted, and denied again, for this person only', async () => {
    const one = await pinned();
    const other = google.user();
    expect(google.can(one.identity, one.role)).toBe(false);
    await present(one);
    expect([google.can(one.identity, one.role), google.can(other, one.role)]).toEqual([true, false]);
    await absent(one);
    expect(google.can(one.identity, one.role)).toBe(false);
  });

  it('ends by the clock of Google while Belay is stopped, and what is left of it is removed later', async () => {
    const one = await pinned();
    await present(one, inHours(1));
    google.clock.now += hour - 1;
    expect([google.can(one.identity, one.role), await holds(one)]).toEqual([true, true]);
    google.clock.now += 1;
    expect(google.can(one.identity, one.role)).toBe(false);
    google.clock.now += 1_000;
    expect(await holds(one)).toBe(false);
    expect(google.shop.bindings).toHaveLength(1);
    await absent(one);
    expect(google.shop.bindings).toEqual([]);
  });
});

describe('the policy of a project', () => {
  it('is written with its etag, in version 3, and keeps every other byte', async () => {
    google.shop.bindings.push(
      { members: [`user:${google.user()}`], role: google.role() },
      { role: google.role(), members: ['group:a@example.com'], condition: { title: 'x', expression: 'true' } },
      { role: google.role(), members: [`user:${google.user()}`] },
    );
    const before = policy();
    const one = await pinned();
    await present(one);
    const [own] = google.shop.bindings.slice(3);
    expect(own).toEqual({
      role: one.role,
      members: [`user:${one.identity}`],
      condition: { title: `belay-${one.id}`, expression: 'request.time < timestamp("2026-11-22T13:00:00.000Z")' },
    });
    await present(one, inHours(2));
    await present(one, inHours(1));
    expect(JSON.stringify(google.shop.bindings[3])).toContain('T14:00:00.000Z');
    await absent(one);
    expect(policy()).toBe(before);
    expect(sent()).toHaveLength(3);
    for (const { body } of sent()) {
      expect(body).toMatchObject({ policy: { version: 3, etag: expect.stringMatching(/./) } });
    }
  });

  it.each([409, 412])('is read, changed and written again on %d, with what the other writer wrote', async (status) => {
    const one = await pinned();
    const other = { role: google.role(), members: [`user:${google.user()}`] };
    const interfere = meanwhile(async () => {
      google.shop.bindings.push(other);
      google.shop.etag = Buffer.from('1000').toString('base64');
    });
    front.on({ ...setPolicy, times: 1 }, interfere);
    if (status === 412) front.on({ ...setPolicy, times: 2 }, answer({ status, body: {} }));
    await present(one);
    expect(google.shop.bindings.map(({ role }) => role)).toEqual([other.role, one.role]);
    await absent(one);
    expect(google.shop.bindings).toEqual([other]);
  });

  it('that others keep changing is an error to be repeated, after five times', async () => {
    const one = await pinned();
    front.on(setPolicy, answer({ status: 409, body: {} }));
    await expect(present(one)).rejects.toBeInstanceOf(Retryable);
    expect(sent()).toHaveLength(5);
  });

  it('is changed by one call at a time in this process', async () => {
    const many = await Promise.all(Array.from({ length: 12 }, () => pinned()));
    await Promise.all(many.map((one) => present(one)));
    expect(google.shop.bindings).toHaveLength(12);
    await Promise.all(many.map(absent));
    expect(google.shop.bindings).toEqual([]);
    expect(sent().map(({ target }) => target?.status)).toEqual(Array.from({ length: 24 }, () => 200));
    expect(front.mostAtOnce()).toBeLessThanOrEqual(16);
  });

  it('of a lower version than 3, as a cache may have it, is not written', async () => {
    const one = await pinned();
    const flat = { etag: google.shop.etag, bindings: [{ role: 'roles/x_withcond_1', members: [] }] };
    front.on({ path: /:getIamPolicy/, times: 1 }, answer({ status: 200, body: flat }));
    await expect(present(one)).rejects.toBeInstanceOf(Retryable);
    expect(sent()).toEqual([]);
  });

  it('without an etag is not written', async () => {
    const one = await pinned();
    front.on({ path: /:getIamPolicy/, times: 1 }, answer({ status: 200, body: { bindings: [] } }));
    await expect(present(one)).rejects.toBeInstanceOf(Retryable);
    expect(sent()).toEqual([]);
  });

  it('with 20 conditional bindings of the role and account takes no other', async () => {
    const one = await pinned();
    for (let each = 0; each < 20; each += 1) {
      const condition = { title: `other ${each}`, expression: `request.time < timestamp("2020-01-01T00:00:00Z")` };
      google.shop.bindings.push({ role: one.role, members: [`user:${one.identity}`], condition });
    }
    const fault = await faultOf(present(one));
    expect(fault).toBeInstanceOf(Terminal);
    expect(fault.message).toContain('20 conditional bindings');
    google.shop.bindings.pop();
    await present(one);
    await present(one, inHours(2));
    expect(google.shop.bindings).toHaveLength(20);
  });

  it('with 1,500 principals takes no other', async () => {
    const one = await pinned();
    const members = Array.from({ length: 1_500 }, (_, index) => `group:group-${index}@example.com`);
    google.shop.bindings.push({ role: google.role(), members });
    await expect(present(one)).rejects.toThrow('1,500 principals');
    google.shop.bindings[0]?.members?.pop();
    await present(one);
    expect(google.can(one.identity, one.role)).toBe(true);
  });
});

describe('accounts and standing access', () => {
  it.each([
    ['a binding without a condition', undefined],
    [
      'a binding with the condition "Friday"',
      { title: 'Friday', expression: 'request.time < timestamp("2030-01-01T00:00:00Z")' },
    ],
  ])('sees %s, leaves it and names it', async (named, condition) => {
    const one = await pinned();
    google.shop.bindings.push({ role: one.role, members: [`user:${one.identity}`], ...(condition && { condition }) });
    const before = policy();
    expect(await holds(one)).toBe(true);
    await expect(absent(one)).rejects.toMatchObject({
      name: 'LeftToOthers',
      message: `The role is also given by ${named}, which Belay does not remove`,
    });
    expect(policy()).toBe(before);
  });

  it('revokes what a deleted account holds, with or without a pin', async () => {
    for (const one of [await pinned(), plain()]) {
      await present(one);
      google.deleteUser(one.identity);
      expect(policy()).toContain('deleted:user:');
      await absent(one);
      expect(google.shop.bindings).toEqual([]);
    }
  });

  it('extends the access of an account that was renamed, under its new name', async () => {
    const one = await pinned();
    await present(one);
    google.rename(one.identity, 'renamed@example.com');
    await present(one, inHours(2));
    google.clock.now += 1.5 * hour;
    expect(google.can('renamed@example.com', one.role)).toBe(true);
    await absent(one);
    expect(google.shop.bindings).toEqual([]);
  });

  it('takes members away that were added to its own binding', async () => {
    const one = await pinned();
    await present(one);
    const intruder = google.user();
    google.shop.bindings[0]?.members?.push(`user:${intruder}`);
    await present(one);
    expect([google.can(intruder, one.role), google.can(one.identity, one.role)]).toEqual([false, true]);
    google.shop.bindings[0]?.members?.push(`user:${intruder}`);
    await absent(one);
    expect(google.shop.bindings).toEqual([]);
  });

  it('restores its own binding when its condition was changed', async () => {
    const one = await pinned();
    await present(one);
    const [own] = google.shop.bindings;
    if (own?.condition) own.condition.expression = 'true';
    await present(one);
    expect(google.shop.bindings[0]?.condition?.expression).toContain('request.time <');
    expect(google.shop.bindings).toHaveLength(1);
  });

  it('does not grant to an account that does not exist, and says so', async () => {
    const one = { ...plain(), identity: 'nobody@example.com' };
    await expect(present(one)).rejects.toThrow('the account does not exist');
    expect(google.shop.bindings).toEqual([]);
  });
});

describe('roles that are not granted', () => {
  it.each([
    'resourcemanager.projects.setIamPolicy',
    'storage.buckets.setIamPolicy',
    'iam.serviceAccounts.actAs',
    'iam.serviceAccounts.getAccessToken',
    'iam.serviceAccountKeys.create',
    'iam.roles.update',
    'iam.workloadIdentityPools.create',
    'iam.workloadIdentityPoolProviders.update',
    'iam.workloadIdentityPoolProviderKeys.create',
  ])('because they are privileged: %s, unless allow_privileged_roles is set', async (permission) => {
    const one = plain([permission]);
    await expect(present(one)).rejects.toThrow('The role is privileged');
    expect(google.shop.bindings).toEqual([]);
    const allowing = await google.authorizer({ allow_privileged_roles: true });
    await allowing.ensurePresent(one, inHours(1), calm());
    expect(google.shop.bindings).toHaveLength(1);
  });

  it.each(['roles/owner', 'roles/editor', 'roles/viewer'])('because they are basic: %s', async (role) => {
    const one = { ...plain(), access: { role, resource: 'projects/shop' } };
    await expect(present(one)).rejects.toBeInstanceOf(Terminal);
    expect(google.shop.bindings).toEqual([]);
  });

  it('because the condition of the example does not name them', async () => {
    const file = new URL('../../../../examples/connectors/gcp-condition.yaml', import.meta.url);
    google.grantorCondition = (parse(await readFile(file, 'utf8')) as { expression: string }).expression;
    const named = { ...plain(), access: { role: 'roles/bigquery.dataViewer', resource: 'projects/shop' } };
    google.roles.set('roles/bigquery.dataViewer', ['bigquery.tables.getData']);
    await present(named);
    expect(google.can(named.identity, 'roles/bigquery.dataViewer')).toBe(true);
    await absent(named);
    expect(google.shop.bindings).toEqual([]);
    const fault = await faultOf(present(plain()));
    expect(fault).toBeInstanceOf(Terminal);
    expect(fault.message).toBe('Google Cloud does not permit this to the connector');
  });
});

describe('a project that is gone', () => {
  it('takes no change while it is being deleted, and its bindings count as revoked from their end on', async () => {
    const one = await pinned();
    await present(one);
    google.shop.state = 'DELETE_REQUESTED';
    await expect(absent(one)).rejects.toBeInstanceOf(Terminal);
    google.clock.now += hour + 1_000;
    await absent(one);
    expect(await holds(one)).toBe(false);
  });

  it('is an error, since Google does not say whether it exists', async () => {
    const one = { ...plain(), access: { role: google.role(), resource: 'projects/purged' } };
    await expect(holds(one)).rejects.toBeInstanceOf(Terminal);
  });

  it('is told from another target', async () => {
    const one = await pinned();
    const elsewhere = { ...one, pin: { ...one.pin, target: 'another' } };
    await expect(absent(elsewhere)).rejects.toBeInstanceOf(OtherTarget);
  });
});

describe('credentials', () => {
  it('that are rejected are an error for an operator, without any secret', async () => {
    const wrong = await google.client({
      credentials: JSON.stringify({
        type: 'external_account',
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/belay/providers/belay',
        token_url: `${google.server.url}/token`,
        // This address does not return the token of the workload that the fake accepts.
        credential_source: { url: `${google.server.url}/token` },
      }),
    });
    const fault = await faultOf(wrong.check(calm()));
    expect(fault).toBeInstanceOf(Terminal);
    expect(fault.message).toBe("Google does not accept the connector's credentials");
    for (const secret of [...googleSecrets, google.token]) expect(everythingIn(fault)).not.toContain(secret);
  });

  it('that expired are renewed', async () => {
    const one = await pinned();
    await present(one);
    google.token = 'ya29.second-token';
    await absent(one);
    expect(google.shop.bindings).toEqual([]);
  });

  it('that lack something are named by the check, and those that have too much by the doctor', async () => {
    const client = await google.client();
    await client.check(calm());
    expect(await client.weaknesses?.(calm())).toEqual([]);
    google.permissions.delete('resourcemanager.projects.setIamPolicy');
    google.permissions.add('iam.serviceAccountKeys.create');
    await expect(client.check(calm())).rejects.toThrow('resourcemanager.projects.setIamPolicy on projects/shop');
    expect((await client.weaknesses?.(calm()))?.[0]?.message).toContain('iam.serviceAccountKeys.create');
    const missing = await google.client({ groups: ['none@example.com'] });
    await expect(missing.check(calm())).rejects.toThrow('reading group/none@example.com');
  });
});

describe('through a front that misbehaves', () => {
  it('counts a grant whose answer was lost, and ends it', async () => {
    const one = await pinned();
    front.on({ ...setPolicy, times: 1 }, loseAnswer);
    await expect(present(one)).rejects.toBeInstanceOf(Retryable);
    expect(await holds(one)).toBe(true);
    front.on({ ...setPolicy, times: 1 }, loseRequest);
    await expect(absent(one)).rejects.toBeInstanceOf(Retryable);
    expect(google.can(one.identity, one.role)).toBe(true);
    await absent(one);
    expect(google.can(one.identity, one.role)).toBe(false);
  });

  it('does not take a read from before the grant for a revocation', async () => {
    const one = await pinned();
    expect(await holds(one)).toBe(false);
    const before = { status: 200, body: { version: 1, etag: google.shop.etag, bindings: [] } };
    await present(one);
    front.on({ path: /:getIamPolicy/, times: 2 }, answer(before));
    await absent(one);
    expect(google.can(one.identity, one.role)).toBe(false);
  });

  it(`leaves no access behind after ${most} faults`, async () => {
    let seed = 7;
    const random = () => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    const act = misbehave(random, 0.4);
    front.on({ when: () => true }, { ...act, run: async (exchange) => withoutWait(await act.run(exchange)) });
    const faults = () =>
      front.journal.filter(({ answered }) => answered?.status === 'lost' || Number(answered?.status) >= 429);
    let grants = 0;
    for (; faults().length < most; grants += 1) {
      const one = plain();
      await settle(() => present(one));
      await settle(() => absent(one));
    }
    let last = '';
    const held = findHeld(front.journal, ({ path, body }) => {
      if (!setPolicy.path.test(path)) return undefined;
      const found = /belay-(e-\d+)/.exec(JSON.stringify(body))?.[1];
      last = found ?? last;
      return { key: last, held: found !== undefined };
    });
    expect(new Set(held.map(({ key }) => key)).size).toBe(grants);
    expect(held.filter(({ to }) => to === undefined)).toEqual([]);
    expect(google.shop.bindings).toEqual([]);
  });
});
