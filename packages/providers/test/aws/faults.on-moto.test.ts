import { answer, gate, misbehave, throttle } from '@belay/targets';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Retryable, Terminal } from '../../src/errors.js';
import type { ProviderClient } from '../../src/index.js';
import type { ByNames, NamedEntitlement } from '../../src/testkit/index.js';
import { everythingIn, faultOf } from '../support/tools.js';
import { fault, type IdentityCenter, openIdentityCenter } from './identity-center.js';
import { authorizerOf, calling, createEntitlements } from './subject.js';

const calm = () => new AbortController().signal;
const until = new Date('2100-01-01T00:00:00.000Z');

let center: IdentityCenter;
let client: ProviderClient;
let { assignment, membership } = {} as ReturnType<typeof createEntitlements>;

beforeAll(async () => {
  center = await openIdentityCenter();
  client = await center.client({ exclusive: ['permission-set/Exclusive', 'group/Exclusive'] });
  ({ assignment, membership } = createEntitlements(center, authorizerOf(client)));
});
afterEach(() => {
  center.front.calm();
  center.orders.denied.clear();
  Object.assign(center.orders, { takes: 0, failure: () => undefined, crowd: 0 });
  center.clock.now += 60_000;
});
afterAll(() => center?.close());

describe('limits of AWS', () => {
  it.each([
    ['a status of 429', throttle(5), 5_000],
    ['a ThrottlingException', answer(fault('ThrottlingException')), 1_000],
    ['a pause that it names', answer(fault('ThrottlingException', { RetryAfterSeconds: 7 })), 7_000],
  ])('are obeyed: %s', async (_, act, afterMilliseconds) => {
    const { one } = await assignment();
    const authorizer = authorizerOf(client);
    const before = center.front.journal.length;
    center.front.on({ times: 1 }, act);
    const refused = await faultOf(authorizer.holds(one, calm()));
    expect(refused).toMatchObject({ name: 'Retryable', options: { afterMilliseconds } });
    await expect(authorizer.holds(one, calm())).rejects.toBeInstanceOf(Retryable);
    expect(center.front.journal).toHaveLength(before + 1);
    center.clock.now += afterMilliseconds;
    expect(await authorizer.holds(one, calm())).toBe(false);
  });

  it('are kept: no more than five calls are on their way at once', async () => {
    const { one } = await assignment();
    const authorizer = authorizerOf(client);
    const hold = gate('before');
    center.front.on({}, hold);
    const reads = Array.from({ length: 20 }, () => authorizer.holds(one, calm()));
    await expect.poll(() => hold.arrived()).toBe(5);
    hold.open();
    await Promise.all(reads);
    expect(center.front.mostAtOnce()).toBe(5);
  });
});

describe('errors that say nothing about the access', () => {
  it.each([
    ['the key of the store', fault('ResourceNotFoundException', { Reason: 'KMS_KEY_NOT_FOUND' }), 'Retryable'],
    ['the store itself', fault('ResourceNotFoundException', { ResourceType: 'IDENTITY_STORE' }), 'Terminal'],
    ['a quota', fault('ServiceQuotaExceededException'), 'Retryable'],
    ['an outage', { status: 503, body: 'busy' }, 'Retryable'],
    ['a page of a proxy', { status: 200, body: '<html>' }, 'Retryable'],
    ['an empty answer', { status: 200, body: {} }, 'Retryable'],
    ['a request that AWS rejects', fault('ValidationException'), 'Terminal'],
  ])('do not end a revocation: %s', async (_, reply, name) => {
    const { one } = await membership();
    const authorizer = authorizerOf(client);
    await authorizer.ensurePresent(one, until, calm());
    center.front.on({}, answer(reply));
    await expect(authorizer.holds(one, calm())).rejects.toMatchObject({ name });
    await expect(authorizer.ensureAbsent(one, calm())).rejects.toMatchObject({ name });
    center.front.calm();
    expect(await authorizer.holds(one, calm())).toBe(true);
    await authorizer.ensureAbsent(one, calm());
  });
});

describe('credentials', () => {
  it.each([
    ['wrong', { access_key_id: 'AKIAWRONG', secret_access_key: 's3cret-access-key' }],
    [
      'expired',
      { access_key_id: 'AKIAEXPIRED', secret_access_key: 's3cret-access-key', session_token: 's3cret-token' },
    ],
  ])('that are %s are an error for an operator, without a secret or an address', async (_, wrong) => {
    const other = await center.client(wrong);
    const { one } = await assignment();
    for (const call of [
      other.check(calm()),
      authorizerOf(other).holds(one, calm()),
      authorizerOf(other).ensurePresent(one, until, calm()),
      authorizerOf(other).ensureAbsent(one, calm()),
    ]) {
      const refused = await faultOf(call);
      expect(refused).toBeInstanceOf(Terminal);
      expect(refused.message).toBe("AWS does not accept the connector's credentials");
      expect(everythingIn(refused)).not.toMatch(/s3cret|127\.0\.0\.1|secret-words|AKIA/);
    }
  });

  it('that lack permissions are told all of them by the check', async () => {
    await client.check(calm());
    await center.assign((await center.permissionSet()).arn, (await center.user()).id);
    for (const operation of ['ListPermissionSets', 'GetUserId', 'ListAccountAssignmentDeletionStatus']) {
      center.orders.denied.add(operation);
    }
    await expect(client.check(calm())).rejects.toThrow(
      'AWS does not permit the connector to call sso:ListAccountAssignmentDeletionStatus, sso:ListPermissionSets, identitystore:GetUserId',
    );
  });

  it('that may not read the status of one operation are told so by the check, once an operation exists', async () => {
    const { one } = await assignment();
    await authorizerOf(client).ensurePresent(one, until, calm());
    await authorizerOf(client).ensureAbsent(one, calm());
    await client.check(calm());
    center.orders.denied.add('DescribeAccountAssignmentCreationStatus');
    center.orders.denied.add('DescribeAccountAssignmentDeletionStatus');
    await expect(client.check(calm())).rejects.toThrow(
      'AWS does not permit the connector to call sso:DescribeAccountAssignmentCreationStatus, sso:DescribeAccountAssignmentDeletionStatus',
    );
  });

  it('that may not change anything end the grant with the name of the operation', async () => {
    const { one } = await assignment();
    center.orders.denied.add('CreateAccountAssignment');
    await expect(authorizerOf(client).ensurePresent(one, until, calm())).rejects.toThrow(
      'AWS does not permit the connector to call sso:CreateAccountAssignment',
    );
  });

  it('that do not see the instance are told so', async () => {
    const other = await center.client({ instance: 'arn:aws:sso:::instance/ssoins-1234567890abcdef' });
    await expect(other.check(calm())).rejects.toThrow('not visible');
  });
});

describe('many people', () => {
  it('are read to the last page, and one of them is granted, found and removed', async () => {
    const { one } = await assignment();
    const authorizer = authorizerOf(client);
    center.orders.crowd = 5_000;
    expect(await authorizer.holds(one, calm())).toBe(false);
    await authorizer.ensurePresent(one, until, calm());
    expect(await authorizer.holds(one, calm())).toBe(true);
    await authorizer.ensureAbsent(one, calm());
    expect(await authorizer.holds(one, calm())).toBe(false);
  });

  it('in an exclusive group are listed without a call for each', async () => {
    const group = await center.group('Exclusive');
    const user = await center.user();
    await center.join(group.id, user.id);
    center.orders.crowd = 300;
    const before = center.calls.length;
    const found: NamedEntitlement[] = [];
    for await (const each of authorizerOf(client).list?.(calm()) ?? []) found.push(each);
    expect(found).toHaveLength(301);
    expect(found.at(-1)).toMatchObject({ id: '', identity: user.name, access: { group: 'Exclusive' } });
    expect(center.calls.length - before).toBeLessThan(15);
  });
});

describe('200 faults', () => {
  const random = (seed: number) => () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const met = () => center.front.journal.filter(({ answered }) => answered?.status !== 200).length;
  const open = () => center.held().filter(({ to }) => to === undefined);

  it('leave no access behind, while operations take time and fail', async () => {
    const numbers = random(11);
    const authorizers = [authorizerOf(client), authorizerOf(await center.client())];
    const [before, metBefore, heldBefore] = [open(), met(), center.held().length];
    for (let turn = 0; met() - metBefore < 200; turn += 1) {
      const { one } = turn % 4 === 0 ? await membership() : await assignment();
      center.orders.takes = Math.floor(numbers() * 6_000);
      center.orders.failure = () => (numbers() < 0.1 ? 'failed' : undefined);
      center.front.on({}, misbehave(numbers, 0.25));
      const attempt = async (work: (authorizer: ByNames) => Promise<unknown>) => {
        center.clock.now += 1_500;
        const by = authorizers[Math.floor(numbers() * 2)] ?? authorizers[0];
        try {
          return by ? await work(by) : undefined;
        } catch (error) {
          expect(error instanceof Retryable || error instanceof Terminal).toBe(true);
          return error;
        }
      };
      for (let tried = 0; tried < 6; tried += 1) {
        const result = await attempt((by) => by.ensurePresent(one, until, calm()));
        if (!(result instanceof Error) || result instanceof Terminal) break;
      }
      let gone = false;
      while (!gone) {
        const result = await attempt((by) => by.ensureAbsent(one, calm()));
        if (!(result instanceof Error)) gone = (await attempt((by) => by.holds(one, calm()))) === false;
      }
      center.front.calm();
    }
    expect(open()).toEqual(before);
    expect(center.held().length - heldBefore).toBeGreaterThan(10);
  });
});

describe('people', () => {
  const identitiesOf = ({ identities }: ProviderClient) => {
    if (!identities) throw new Error('no identities');
    return identities;
  };

  it('are found by the very address, and not by one that AWS takes for the same', async () => {
    const identities = identitiesOf(client);
    const user = await center.user('rita', 'Rita@Example.com');
    expect(await identities.find({ email: 'rita@other.example', name: '', subject: '' }, calm())).toBeNull();
    const found = await identities.find({ email: 'Rita@Example.com', name: '', subject: '' }, calm());
    expect(found).toEqual({ id: 'rita', name: 'rita', email: 'Rita@Example.com' });
    center.front.on(calling('GetUserId'), answer({ status: 200, body: { UserId: user.id } }));
    expect(await identities.find({ email: 'omar@example.com', name: '', subject: '' }, calm())).toBeNull();
  });

  it('are found by an address that is longer than a user name can be', async () => {
    const email = `${'r'.repeat(64)}@${'long.'.repeat(30)}example.com`;
    await center.user('regina', email);
    expect(await identitiesOf(client).find({ email, name: '', subject: '' }, calm())).toMatchObject({ id: 'regina' });
  });

  it('are found by a user name that is their address, where the configuration says so', async () => {
    const identities = identitiesOf(await center.client({ identity: 'username' }));
    await center.user('olga@example.com', 'other@example.com');
    expect(await identities.find({ email: 'olga@example.com', name: '', subject: '' }, calm())).toMatchObject({
      id: 'olga@example.com',
    });
    expect(await identities.find({ email: 'other@example.com', name: '', subject: '' }, calm())).toBeNull();
    await center.user('many@example.com', 'one@example.com', 'two@example.com');
    expect(await identities.get('many@example.com', calm())).toMatchObject({
      email: 'one@example.com',
      addresses: ['two@example.com', 'many@example.com'],
    });
  });

  it('are searched for, those that match exactly first', async () => {
    const identities = identitiesOf(client);
    await center.user('anna', 'anna@example.com');
    await center.user('annabel', 'annabel@example.com');
    expect((await identities.search('anna', 5, calm())).map(({ id }) => id)).toEqual(['anna', 'annabel']);
    expect((await identities.search('annabel@example.com', 1, calm())).map(({ id }) => id)).toEqual(['annabel']);
    expect(await identities.get('annabel', calm())).toMatchObject({ email: 'annabel@example.com' });
    expect(await identities.get('no-such-user', calm())).toBeNull();
    expect((await identities.list(calm())).length).toBeGreaterThan(2);
  });
});
