import { afterAll, beforeAll, expect, it } from 'vitest';
import { Retryable } from '../../src/index.js';
import { type ByNames, byNames } from '../../src/testkit/index.js';
import { type OpenLdap, openLdap } from './openldap.js';
import { type Fault, type LdapProxy, operation, startProxy } from './proxy.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const kinds: Fault[] = ['request', 'answer', 'busy', 'silence'];

let server: OpenLdap;
let proxy: LdapProxy;
let authorizer: ByNames;
beforeAll(async () => {
  server = await openLdap();
  proxy = await startProxy(server.target.url);
  const client = await server.connect({ url: proxy.url });
  if (!client.authorizer) throw new Error('no authorizer');
  authorizer = byNames(client.authorizer);
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const calm = () => new AbortController().signal;
/**
 * A short time limit in milliseconds, for calls without a response. On a busy machine it also ends other calls: one
 * more fault.
 */
const patience = 400;

async function make() {
  const [identity, group] = [await server.person(), await server.group()];
  const one = { id: identity, identity, access: { group } };
  const pin = await authorizer.pin(one, calm());
  if (!pin) throw new Error('no pin');
  return { ...one, pin, group };
}

it.each(kinds)('does not take a membership for settled when the change meets the fault %s', async (kind) => {
  const one = await make();
  /** Has the next change meet the fault, and returns a signal that ends the call when it would wait without end. */
  const once = () => {
    const call = new AbortController();
    let left = 1;
    proxy.misbehave = (tag) => {
      if (tag !== operation.modify || left-- <= 0) return undefined;
      if (kind === 'silence') call.abort();
      return kind;
    };
    return call.signal;
  };
  await expect(authorizer.ensurePresent(one, until, once())).rejects.toBeInstanceOf(Retryable);
  expect(await authorizer.holds(one, calm())).toBe(kind === 'answer');
  await authorizer.ensurePresent(one, until, calm());
  await expect(authorizer.ensureAbsent(one, once())).rejects.toBeInstanceOf(Retryable);
  expect(await authorizer.holds(one, calm())).toBe(kind !== 'answer');
  await authorizer.ensureAbsent(one, calm());
  expect(await server.members(one.group)).toEqual([`cn=keeper,${server.groups}`]);
});

it('leaves nothing in the group when the name passes to another person just before it is written', async () => {
  const one = await make();
  let left = 1;
  proxy.misbehave = async (tag) => {
    if (tag !== operation.modify || left-- <= 0) return undefined;
    await server.admin.modifyDN(one.identity, `uid=renamed-${one.group}`);
    await server.person(/^uid=([^,]+)/.exec(one.identity)?.[1]);
    return undefined;
  };
  await expect(authorizer.ensurePresent(one, until, calm())).rejects.toBeInstanceOf(Retryable);
  expect(await server.members(one.group)).toEqual([`cn=keeper,${server.groups}`]);
});

it('leaves no access behind after 200 faults, by what the server itself lists', async () => {
  // A fixed sequence (a linear congruential generator), so that a failure can be repeated.
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  const begun = proxy.faults;
  const all = await Promise.all(Array.from({ length: 8 }, make));
  while (proxy.faults - begun < 200) {
    // Silence takes long, so it is rare.
    proxy.misbehave = () => (random(5) > 0 ? undefined : random(50) === 0 ? 'silence' : kinds[random(3)]);
    await Promise.all(
      all.map(async (one) => {
        const signal = AbortSignal.timeout(patience);
        const work =
          random(2) === 0 ? authorizer.ensurePresent(one, until, signal) : authorizer.ensureAbsent(one, signal);
        await work.catch((error) => expect(error).toBeInstanceOf(Retryable));
      }),
    );
  }
  // As core does it: repeats until the call returns and the access is read back as gone.
  const revoke = async (one: (typeof all)[number]): Promise<void> => {
    try {
      await authorizer.ensureAbsent(one, AbortSignal.timeout(patience));
      if (!(await authorizer.holds(one, AbortSignal.timeout(patience)))) return;
    } catch (error) {
      expect(error).toBeInstanceOf(Retryable);
    }
    return revoke(one);
  };
  await Promise.all(all.map(revoke));
  for (const { group } of all) expect(await server.members(group)).toEqual([`cn=keeper,${server.groups}`]);
  proxy.misbehave = () => undefined;
});
