import { generateKeyPairSync } from 'node:crypto';
import { answer, findHeld, loseAnswer, loseRequest, misbehave } from '@belay/targets';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Retryable, Terminal } from '../../src/errors.js';
import { byNames } from '../../src/testkit/index.js';
import { everythingIn, faultOf } from '../support/tools.js';
import { openOrganization } from './organization.js';

const calm = () => new AbortController().signal;
const until = new Date('2100-01-01T00:00:00.000Z');
/** The first faults find most defects of the connector; CI runs the long series. */
const most = process.env.CI ? 200 : 60;
const clock = { now: Date.parse('2030-01-01T00:00:00Z') };

let organization: Awaited<ReturnType<typeof openOrganization>>;
beforeAll(async () => {
  organization = await openOrganization({ now: () => clock.now });
});
afterAll(() => organization?.close());

async function open(config: Record<string, unknown> = {}) {
  const front = await organization.front();
  const client = await organization.client({ url: front.url, ...config });
  return { front, client, authorizer: byNames(client.authorizer) };
}

describe('limits of Okta', () => {
  it('waits until the moment that X-Rate-Limit-Reset names, and only with calls of the same kind', async () => {
    const { front, authorizer } = await open();
    await using _ = front;
    const one = await organization.fresh();
    const pin = (await authorizer.pin(one, calm())) ?? undefined;
    const held = { ...one, ...(pin && { pin }) };
    const headers = { 'x-rate-limit-reset': String(clock.now / 1000 + 30), date: new Date(clock.now).toUTCString() };
    const throttled = answer({ status: 429, headers, body: { errorCode: 'E0000047' } });
    front.on({ method: 'GET', path: /users\/[^/]+\/groups/, times: 1 }, throttled);
    const error = await faultOf(authorizer.holds(held, calm()));
    expect(error).toBeInstanceOf(Retryable);
    expect((error as Retryable).options.afterMilliseconds).toBe(30_000);
    const before = front.journal.length;
    await expect(authorizer.holds(held, calm())).rejects.toBeInstanceOf(Retryable);
    expect(front.journal.slice(before).filter(({ path }) => path.includes('/users/'))).toEqual([]);
    await authorizer.ensureAbsent(held, calm());
    clock.now += 30_000;
    expect(await authorizer.holds(held, calm())).toBe(false);
  });

  it('never has more than eight calls at Okta at once', async () => {
    const { front, authorizer } = await open();
    await using _ = front;
    const one = await organization.fresh();
    await Promise.all(Array.from({ length: 40 }, () => authorizer.holds(one, calm())));
    // A second client, without credentials, reads the organization.
    expect(front.mostAtOnce()).toBeLessThanOrEqual(16);
  });
});

describe('answers that fail', () => {
  it.each([
    ['500', answer({ status: 500, body: {} })],
    ['503', answer({ status: 503, body: {} })],
    ['409', answer({ status: 409, body: {} })],
    ['a page of a proxy', answer({ status: 200, body: '<html>' })],
    ['a lost request', loseRequest],
    ['a lost answer', loseAnswer],
  ])('takes %s for a reason to try again, for grants and revocations', async (_name, act) => {
    const { front, authorizer } = await open();
    await using _ = front;
    const one = await organization.fresh();
    front.on({ path: /okta-organization|\/api\//, times: 1 }, act);
    await expect(authorizer.ensurePresent(one, until, calm())).rejects.toBeInstanceOf(Retryable);
    await authorizer.ensurePresent(one, until, calm());
    expect(await authorizer.holds(one, calm())).toBe(true);
    front.on({ path: /okta-organization|\/api\//, times: 1 }, act);
    await expect(authorizer.ensureAbsent(one, calm())).rejects.toBeInstanceOf(Retryable);
    await authorizer.ensureAbsent(one, calm());
    expect(await authorizer.holds(one, calm())).toBe(false);
  });

  it(`leaves no access behind after ${most} faults`, async () => {
    const { front, authorizer } = await open();
    await using _ = front;
    let seed = 7;
    const random = () => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    const act = misbehave(random, 0.25, { staleReads: true });
    front.on(
      {},
      {
        ...act,
        async run(exchange) {
          const reply = await act.run(exchange);
          // A `retry-after` would only slow the test down.
          return reply === 'lost' ? reply : { ...reply, headers: { ...reply.headers, 'retry-after': '' } };
        },
      },
    );
    const settle = async (work: () => Promise<unknown>, wanted: boolean, read: () => Promise<unknown>) => {
      for (let tried = 0; tried < 500; tried += 1) {
        const error = await work()
          .then(read)
          .then(
            (held) => held !== wanted,
            (caught: unknown) => caught,
          );
        if (error === false) return;
        if (error !== true) expect(error).toBeInstanceOf(Retryable);
      }
      throw new Error('not settled');
    };
    const groups: string[] = [];
    const faults = () =>
      front.journal.filter(
        ({ act: name, answered }) =>
          name !== 'forward' && (answered?.status === 'lost' || Number(answered?.status) >= 429),
      );
    while (faults().length < most) {
      const one = await organization.fresh();
      const pin = { target: '00o1belay', subject: { group: one.groupId, user: one.userId } };
      groups.push(one.groupId);
      const held = { ...one, pin };
      const read = () => authorizer.holds(held, calm());
      await settle(() => authorizer.ensurePresent(held, until, calm()), true, read);
      await settle(() => authorizer.ensureAbsent(held, calm()), false, read);
    }
    const held = findHeld(front.journal, ({ method, path }) =>
      /groups\/[^/]+\/users\//.test(path) && method !== 'GET' ? { key: path, held: method === 'PUT' } : undefined,
    );
    expect(held.length).toBeGreaterThanOrEqual(groups.length);
    expect(held.filter(({ to }) => to === undefined)).toEqual([]);
    for (const group of groups) expect(await organization.members(group)).toEqual([]);
  });
});

describe('credentials', () => {
  const { privateKey: strange } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });

  it.each([
    ['another key', { private_key: strange }],
    ['another app', { client_id: '0oaother' }],
  ])('says that Okta does not accept %s, with no secret and no address in the error', async (_name, config) => {
    const { front, client, authorizer } = await open(config);
    await using _ = front;
    const one = await organization.fresh();
    for (const call of [() => client.check(calm()), () => authorizer.holds(one, calm())]) {
      const error = await faultOf(call());
      expect(error).toBeInstanceOf(Terminal);
      expect(error.message).toBe("Okta does not accept the connector's client ID and key");
      expect(everythingIn(error)).not.toMatch(/PRIVATE KEY|eyJ|127\.0\.0\.1|Bearer/);
    }
  });

  it('fetches one token for many calls, and another one after an hour or when Okta has ended it', async () => {
    const { front, authorizer } = await open();
    await using _ = front;
    const one = await organization.fresh();
    const tokens = () => front.journal.filter(({ path }) => path.includes('/v1/token')).length;
    await Promise.all([authorizer.holds(one, calm()), authorizer.holds(one, calm())]);
    expect(tokens()).toBe(1);
    clock.now += 3_600_000;
    await authorizer.holds(one, calm());
    expect(tokens()).toBe(2);
    organization.world.endTokens();
    await authorizer.holds(one, calm());
    expect(tokens()).toBe(3);
  });

  it('names the scopes, and then what the admin role lacks, in a check', async () => {
    const { front, client, authorizer } = await open();
    await using _ = front;
    await client.check(calm());
    organization.world.grantScopes(['okta.groups.manage']);
    await expect(client.check(calm())).rejects.toThrow('the scope okta.users.read, okta.roles.read');
    await expect(authorizer.holds(await organization.fresh(), calm())).rejects.toThrow('belay doctor');
    organization.world.grantScopes(['okta.groups.manage', 'okta.users.read', 'okta.users.manage', 'okta.roles.read']);
    organization.world.permit(['groups', 'users', 'roles']);
    await expect(client.check(calm())).rejects.toThrow('list group rules');
    await expect(authorizer.pin(await organization.fresh(), calm())).rejects.toThrow('does not permit');
    organization.world.permit(['groups', 'users', 'roles', 'rules']);
    await client.check(calm());
  });
});

describe('the service app', () => {
  it('is told to do without DPoP', async () => {
    organization.world.requireProof();
    const { front, client } = await open();
    await using _ = front;
    await expect(client.check(calm())).rejects.toThrow('DPoP');
  });
});
