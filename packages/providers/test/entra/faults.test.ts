import { answer, type Front, findHeld, loseAnswer, loseRequest, misbehave, throttle } from '@belay/targets';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Pending, Retryable, Terminal } from '../../src/errors.js';
import type { ByNames, NamedEntitlement } from '../../src/testkit/index.js';
import { everythingIn, faultOf } from '../support/tools.js';
import { startTenant, type Tenant } from './tenant.js';
import type { PlaceName } from './world.js';

const calm = () => new AbortController().signal;
const hour = 3_600_000;
/** The first faults find most defects of the connector; CI runs the long series. */
const most = process.env.CI ? 200 : 60;
const kinds = { group: 'groups', directory: 'directory_roles', azure: 'azure_roles' };
const writes = { method: ['POST', 'PUT', 'DELETE'], path: /members|[sS]chedule|roleAssignments/ };
const modes = (['group', 'directory', 'azure'] as const).flatMap((place) => [
  { place, scheduled: false },
  { place, scheduled: true },
]);

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

const open = (place: PlaceName, scheduled: boolean) =>
  tenant.authorizer(scheduled ? { pim: [kinds[place]] } : {}, front.url);
const pinned = async (authorizer: ByNames, place: PlaceName) => {
  const one = await tenant.fresh(place);
  const { userId, what, ...ref } = one;
  const pin = await authorizer.pin(ref, calm());
  if (!pin) throw new Error('no pin');
  return { one, held: { ...ref, pin } };
};
const until = () => new Date(tenant.clock.now + 100 * hour);

/** Returns what a write changed, by its request. */
function effectOf({ method, path, body }: { method: string; path: string; body: unknown }) {
  const sent = (body ?? {}) as Record<string, string> & { properties?: Record<string, string> };
  if (/members\/\$ref$/.test(path)) return { key: sent['@odata.id']?.split('/').at(-1) ?? '', held: true };
  if (method === 'DELETE' && /members\/[^/]+\/\$ref$/.test(path))
    return { key: path.split('/').at(-2) ?? '', held: false };
  const action = (sent.action ?? sent.properties?.requestType ?? '').toLowerCase();
  const user = sent.principalId ?? sent.properties?.principalId ?? '';
  if (/ScheduleRequests/.test(path) && method !== 'GET') return { key: user, held: action !== 'adminremove' };
  if (/directory\/roleAssignments$/.test(path) && method === 'POST') return { key: user, held: true };
  if (/directory\/roleAssignments\//.test(path) && method === 'DELETE') {
    const id = decodeURIComponent(path.split('/').at(-1) ?? '');
    return { key: Buffer.from(id, 'base64url').toString().split(' ')[1] ?? '', held: false };
  }
  const name = /Authorization\/roleAssignments\/([^?]+)/.exec(path)?.[1];
  return name === undefined || method === 'GET' ? undefined : { key: name, held: method === 'PUT' };
}

describe.each(modes)('$place, scheduled: $scheduled', ({ place, scheduled }) => {
  it.each([
    ['500', answer({ status: 500, body: {} })],
    ['503', answer({ status: 503, body: {} })],
    ['a page of a proxy', answer({ status: 200, body: '<html>' })],
    ['a 404 of a proxy', answer({ status: 404, body: '<html>' })],
    ['a lost request', loseRequest],
  ])('takes %s for a reason to try again, for grants and revocations', async (_name, act) => {
    const authorizer = await open(place, scheduled);
    const { one, held } = await pinned(authorizer, place);
    front.on({ path: /v1\.0|Authorization/, times: 1 }, act);
    await expect(authorizer.ensurePresent(held, until(), calm())).rejects.toBeInstanceOf(Retryable);
    await authorizer.ensurePresent(held, until(), calm());
    expect(await authorizer.holds(held, calm())).toBe(true);
    front.on({ path: /v1\.0|Authorization/, times: 1 }, act);
    await expect(authorizer.ensureAbsent(held, calm())).rejects.toBeInstanceOf(Retryable);
    await authorizer.ensureAbsent(held, calm());
    expect([await authorizer.holds(held, calm()), tenant.held(place, one)]).toEqual([false, false]);
  });

  it('counts a grant whose answer was lost, and ends it', async () => {
    const authorizer = await open(place, scheduled);
    const { one, held } = await pinned(authorizer, place);
    front.on({ ...writes, times: 1 }, loseAnswer);
    await expect(authorizer.ensurePresent(held, until(), calm())).rejects.toBeInstanceOf(Retryable);
    expect(tenant.held(place, one)).toBe(true);
    front.on({ ...writes, times: 1 }, loseAnswer);
    await expect(authorizer.ensureAbsent(held, calm())).rejects.toBeInstanceOf(Retryable);
    await authorizer.ensureAbsent(held, calm()).catch((error: unknown) => expect(error).toBeInstanceOf(Pending));
    tenant.clock.now += 60_000;
    await authorizer.ensureAbsent(held, calm());
    expect([await authorizer.holds(held, calm()), tenant.held(place, one)]).toEqual([false, false]);
  });

  it('says "changing" while reads lag behind a grant, and revokes what it cannot read', async () => {
    const authorizer = await open(place, scheduled);
    const { one, held } = await pinned(authorizer, place);
    tenant.lag = 30_000;
    await authorizer.ensurePresent(held, until(), calm());
    const first = await authorizer.holds(held, calm());
    // The connector reads an assignment in Azure by its name, and such reads do not lag.
    if (place !== 'azure' || scheduled) expect(first).toBe('changing');
    tenant.clock.now += 30_000;
    expect(await authorizer.holds(held, calm())).toBe(true);
    const { one: another, held: later } = await pinned(authorizer, place);
    await authorizer.ensurePresent(later, until(), calm());
    // A directory role without a schedule has to be read before it can be removed.
    const removed = await authorizer.ensureAbsent(later, calm()).then(
      () => true,
      (error: unknown) => !(error instanceof Pending) && error,
    );
    expect(removed).toBe(!(place === 'directory' && !scheduled));
    tenant.clock.now += 30_000;
    await authorizer.ensureAbsent(later, calm());
    await authorizer.ensureAbsent(held, calm());
    expect([tenant.held(place, one), tenant.held(place, another)]).toEqual([false, false]);
  });

  it(`leaves no access behind after ${most} faults, and deletes no account`, async () => {
    const authorizer = await open(place, scheduled);
    let seed = 7;
    const random = () => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    const act = misbehave(random, 0.4, { staleReads: true });
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
    const settle = async (work: () => Promise<unknown>, wanted: boolean, held: NamedEntitlement) => {
      for (let tried = 0; tried < 500; tried += 1) {
        const error = await work()
          .then(() => authorizer.holds(held, calm()))
          .then(
            (found) => found !== wanted,
            (caught: unknown) => caught,
          );
        if (error === false) return;
        if (error !== true) expect(error).toBeInstanceOf(Retryable);
        tenant.clock.now += 10_000;
      }
      throw new Error('not settled');
    };
    const faults = () =>
      front.journal.filter(
        ({ act: name, answered }) =>
          name !== 'forward' && (answered?.status === 'lost' || Number(answered?.status) >= 429),
      );
    const granted = [];
    const end = until();
    while (faults().length < most) {
      const { userId, what, ...ref } = await tenant.fresh(place);
      const scope = (ref.access as { scope?: string }).scope ?? (place === 'group' ? '' : '/');
      const subject = { kind: kinds[place] ?? '', user: userId, what, scope, scheduled };
      const held = { ...ref, pin: { target: await authorizer.target(calm()), subject } };
      granted.push({ userId, what });
      await settle(() => authorizer.ensurePresent(held, end, calm()), true, held);
      expect(tenant.held(place, { userId, what })).toBe(true);
      await settle(() => authorizer.ensureAbsent(held, calm()), false, held);
    }
    const found = findHeld(front.journal, effectOf);
    expect(found.length).toBeGreaterThanOrEqual(granted.length);
    expect(found.filter(({ to }) => to === undefined)).toEqual([]);
    expect(granted.filter((one) => tenant.held(place, one))).toEqual([]);
    expect(tenant.users.size).toBe(granted.length);
    expect(front.journal.filter(({ method, path }) => method === 'DELETE' && /members\/[^/]+$/.test(path))).toEqual([]);
  });
});

describe('limits of Entra', () => {
  it('waits as long as Retry-After says, and sends nothing until then', async () => {
    const authorizer = await open('group', false);
    const { held } = await pinned(authorizer, 'group');
    front.on({ path: /members/, times: 1 }, throttle(30));
    const error = await faultOf(authorizer.holds(held, calm()));
    expect((error as Retryable).options.afterMilliseconds).toBe(30_000);
    const before = front.journal.length;
    await expect(authorizer.holds(held, calm())).rejects.toBeInstanceOf(Retryable);
    expect(front.journal.length).toBe(before);
    tenant.clock.now += 30_000;
    expect(await authorizer.holds(held, calm())).toBe(false);
  });

  it('never has more than eight calls at Graph at once', async () => {
    const authorizer = await open('group', false);
    const { held } = await pinned(authorizer, 'group');
    await Promise.all(Array.from({ length: 40 }, () => authorizer.holds(held, calm())));
    expect(front.mostAtOnce()).toBeLessThanOrEqual(9);
  });
});

describe('credentials', () => {
  it.each([
    ['another secret', { client_secret: 'not-the-secret' }, "Entra does not accept the connector's client secret"],
    [
      'another app',
      { client_id: '00000000-0000-4000-8000-000000000001' },
      'The tenant has no application with this client ID',
    ],
    ['another tenant', { tenant: '00000000-0000-4000-8000-000000000002' }, 'Entra has no such tenant'],
  ])('says what Entra does not accept of %s, with no secret in the error', async (_name, config, message) => {
    const client = await tenant.client(config, front.url);
    const error = await faultOf(client.check(calm()));
    expect(error).toBeInstanceOf(Terminal);
    expect(error.message).toBe(message);
    expect(everythingIn(error)).not.toMatch(/the-secret|not-the-secret|eyJ|127\.0\.0\.1|Bearer|Trace ID/);
  });

  it('says that a client secret has expired', async () => {
    tenant.rejection = { error: 'invalid_client', error_codes: [7000222] };
    const client = await tenant.client({}, front.url);
    await expect(client.check(calm())).rejects.toThrow("The connector's client secret has expired at Entra");
  });

  it('fetches one token for many calls, and another one when Entra has ended it', async () => {
    const authorizer = await open('group', false);
    const { held } = await pinned(authorizer, 'group');
    const tokens = () => front.journal.filter(({ path }) => path.includes('/oauth2/')).length;
    await Promise.all([authorizer.holds(held, calm()), authorizer.holds(held, calm())]);
    expect(tokens()).toBe(1);
    tenant.endTokens();
    await authorizer.holds(held, calm());
    expect(tokens()).toBe(2);
    tenant.clock.now += hour;
    await authorizer.holds(held, calm());
    expect(tokens()).toBe(3);
  });
});
