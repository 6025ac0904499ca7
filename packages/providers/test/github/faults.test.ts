import { answer, type Front, findHeld, loseAnswer, misbehave, stale, throttle } from '@belay/targets';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Retryable, Terminal } from '../../src/errors.js';
import type { NamedEntitlement } from '../../src/testkit/index.js';
import { everythingIn, faultOf } from '../support/tools.js';
import { authorizerOf, entitlement, type Organization, openOrganization } from './github.js';

const calm = () => new AbortController().signal;
const until = new Date('2100-01-01T00:00:00.000Z');
/** The first faults find most defects of the connector; CI runs the long series. */
const most = process.env.CI ? 70 : 35;
const accesses = {
  team: { role: 'team/oncall' },
  'role in a repository': { role: 'repo-role/maintain', repository: 'acme/shop' },
  'organization role': { role: 'org-role/all_repo_read' },
};

let organization: Organization;
beforeAll(async () => {
  organization = await openOrganization({ people: 200 });
});
afterAll(() => organization?.close());

/** Opens a connector behind its own front. `next` returns a new person with a pinned entitlement. */
async function open(access: NamedEntitlement['access'] = accesses.team, now = Date.now) {
  const front: Front = await organization.front(now);
  const client = await organization.client({}, front.url, now);
  const authorizer = authorizerOf(client);
  const next = async () => {
    const { id, login } = await organization.person();
    const named = entitlement(id, access);
    const pin = await authorizer.pin(named, calm());
    return { login, held: { ...named, ...(pin ? { pin } : {}) } };
  };
  return { front, client, authorizer, next, ...(await next()) };
}

describe('the github connector through a front that misbehaves', () => {
  it.each(Object.entries(accesses))('counts a grant whose answer was lost, and ends it: %s', async (_, access) => {
    const { front, authorizer, held } = await open(access);
    await using _front = front;
    front.on({ method: 'PUT', times: 1 }, loseAnswer);
    await expect(authorizer.ensurePresent(held, until, calm())).rejects.toBeInstanceOf(Retryable);
    expect(await authorizer.holds(held, calm())).toBe(true);
    await authorizer.ensurePresent(held, until, calm());
    front.on({ method: 'DELETE', times: 1 }, loseAnswer);
    await expect(authorizer.ensureAbsent(held, calm())).rejects.toBeInstanceOf(Retryable);
    await authorizer.ensureAbsent(held, calm());
    expect(await authorizer.holds(held, calm())).toBe(false);
  });

  it('revokes also while stale reads say that what was granted is not there', async () => {
    const { front, authorizer, held, login } = await open();
    await using _ = front;
    expect(await authorizer.holds(held, calm())).toBe(false);
    await authorizer.ensurePresent(held, until, calm());
    expect(await organization.held()).toContain(`oncall ${login}`);
    front.on({ method: 'GET', path: /memberships/, times: 3 }, stale);
    await authorizer.ensureAbsent(held, calm());
    expect(await organization.held()).not.toContain(`oncall ${login}`);
    front.calm();
    expect(await authorizer.holds(held, calm())).toBe(false);
  });

  it('obeys Retry-After, and has no more than eight calls at once', async () => {
    const clock = { now: Date.now() };
    const { front, authorizer, held } = await open(accesses.team, () => clock.now);
    await using _ = front;
    front.on({ path: /team/, times: 1 }, throttle(5));
    const fault = await faultOf(authorizer.holds(held, calm()));
    expect(fault).toMatchObject({ name: 'Retryable', options: { afterMilliseconds: 5_000 } });
    const before = front.journal.length;
    await expect(authorizer.holds(held, calm())).rejects.toBeInstanceOf(Retryable);
    expect(front.journal).toHaveLength(before);
    clock.now += 5_000;
    await Promise.all(Array.from({ length: 20 }, () => authorizer.holds(held, calm())));
    expect(front.mostAtOnce()).toBeLessThanOrEqual(8);
  });

  it.each([
    ['of requests in an hour', 30_000, { message: 'API rate limit exceeded' }],
    ['that is secondary', 60_000, { message: 'You have exceeded a secondary rate limit. Please wait.' }],
  ])('waits as long as a limit %s says with 403', async (_, wait, body) => {
    const clock = { now: Date.now() };
    const { front, authorizer, held } = await open(accesses.team, () => clock.now);
    await using _front = front;
    const second = Math.floor(clock.now / 1000);
    const date = new Date(second * 1000).toUTCString();
    const reset = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${second + 30}` };
    const headers = { date, ...(wait === 30_000 ? reset : {}) };
    front.on({ path: /team/, times: 1 }, answer({ status: 403, headers, body }));
    const fault = await faultOf(authorizer.holds(held, calm()));
    expect(fault).toMatchObject({ name: 'Retryable', options: { afterMilliseconds: wait } });
  });

  it.each([
    [409, Retryable],
    [500, Retryable],
    [502, Retryable],
    [301, Terminal],
    [403, Terminal],
    [422, Terminal],
  ])('takes status %i of a change for what it is', async (status, kind) => {
    const { front, authorizer, held } = await open();
    await using _ = front;
    front.on({ method: 'PUT' }, answer({ status, body: { message: 'secret words of the provider' } }));
    const fault = await faultOf(authorizer.ensurePresent(held, until, calm()));
    expect(fault).toBeInstanceOf(kind);
    expect(everythingIn(fault)).not.toContain('secret words');
    expect(everythingIn(fault)).not.toContain('ghs_');
  });

  it('is an error of credentials when GitHub accepts no token at all, without the token in it', async () => {
    const { front, authorizer, held } = await open();
    await using _ = front;
    front.on({ path: /team/ }, answer({ status: 401, body: { message: 'Bad credentials' } }));
    const fault = await faultOf(authorizer.holds(held, calm()));
    expect(fault).toBeInstanceOf(Terminal);
    expect(everythingIn(fault)).not.toContain('ghs_');
  });

  it.each(Object.entries(accesses))(`leaves no access behind after ${most} faults: %s`, async (kind, access) => {
    const { front, authorizer, next } = await open(access);
    await using _ = front;
    let seed = 7 + kind.length;
    const random = () => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    const act = misbehave(random, 0.3, { staleReads: true });
    const faults = () =>
      front.journal.filter(({ answered, act: name }) => name !== 'forward' && isFault(answered?.status));
    const settle = async (work: () => Promise<unknown>) => {
      for (let tried = 0; tried < 200; tried += 1) {
        const error = await work().then(
          (value) => (value === false ? new Retryable('not yet') : undefined),
          (caught: unknown) => caught,
        );
        if (error === undefined) return;
        expect(error).toBeInstanceOf(Retryable);
      }
      throw new Error('not settled');
    };
    while (faults().length < most) {
      front.calm();
      const { held } = await next();
      // A `retry-after` would only slow the test down.
      front.on({}, { name: 'misbehave', run: async (exchange) => withoutWait(await act.run(exchange)) });
      await settle(() => authorizer.ensurePresent(held, until, calm()));
      // As core does it: until the access is read back as gone, and once more later.
      await settle(async () => {
        await authorizer.ensureAbsent(held, calm());
        return !(await authorizer.holds(held, calm()));
      });
      await settle(() => authorizer.ensureAbsent(held, calm()));
    }
    const held = findHeld(front.journal, ({ method, path }) => {
      if (method !== 'PUT' && method !== 'DELETE') return undefined;
      return { key: path.replace(/\?.*/, ''), held: method === 'PUT' };
    });
    expect(held.length).toBeGreaterThan(2);
    expect(held.filter(({ to }) => to === undefined)).toEqual([]);
    expect(await organization.held()).toEqual([]);
  });
});

function isFault(status: number | 'lost' | undefined): boolean {
  return status === 'lost' || Number(status) >= 429;
}

function withoutWait<T>(reply: T): T {
  return typeof reply === 'object' && reply !== null ? { ...reply, headers: {} } : reply;
}

describe('standing access in a crowd', () => {
  it('is found among 200 members on 50 pages, by number', async () => {
    const { world } = organization.github;
    const { authorizer } = await open(accesses['role in a repository']);
    world.limitPages(4);
    for (let each = 1; each <= 199; each += 1) {
      world.setDirect(String(organization.repository), `person-${each}`, 'pull');
    }
    try {
      const last = entitlement(await organization.idOf('person-199'), accesses['role in a repository']);
      const next = entitlement(await organization.idOf('person-200'), accesses['role in a repository']);
      expect([await authorizer.holds(last, calm()), await authorizer.holds(next, calm())]).toEqual([true, false]);
    } finally {
      for (let each = 1; each <= 199; each += 1) {
        world.setDirect(String(organization.repository), `person-${each}`, null);
      }
      world.limitPages(100);
    }
  });
});
