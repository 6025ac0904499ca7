import { getExecution } from '@belay/core';
import type { Connector } from '@belay/providers';
import { createMemoryConnector, createMemoryProvider, type MemoryProvider } from '@belay/providers/testkit';
import { approvalCatalog } from '@belay/testkit/house';
import { sweep } from '@belay/testkit/sweep';
import { afterEach, describe, expect, it } from 'vitest';
import { gateOf } from './support/gate.js';
import { access, ask, type Cast, hour, minute, openCast, request, second, statusOf } from './support/stories.js';

const unknown = { kind: 'unknown' } as const;

/** Returns a connector of another type for a memory provider, which reports that it cannot know what is held. */
function blindConnector(state: MemoryProvider): Connector {
  const inner = createMemoryConnector(state);
  return {
    ...inner,
    type: 'blind',
    create: (config, tools) => {
      const client = inner.create(config as never, tools);
      if (!client.authorizer) throw new Error('The memory connector has an authorizer');
      return { ...client, authorizer: { ...client.authorizer, knows: false, holds: async () => 'unknown' } };
    },
  } as Connector;
}

describe('a provider that cannot report whether the access is held', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  const open = async () => {
    cast = await openCast();
    return cast;
  };
  const held = () => cast?.house.provider.holds('ada@example.com', access);
  const told = async (type: string) =>
    (cast as Cast).house.database.sql`select message, data from ledger where type = ${type} order by seq`;

  it('is asked again before anything is granted: standing access is neither managed nor revoked (R2)', async () => {
    const { house, ada } = await open();
    house.provider.put('ada@example.com', access);
    house.provider.inject('holds', unknown, 2);
    const id = await ask(house, ada, { workflow: 'automatic' });
    expect(house.provider.count('ensurePresent')).toBe(0);
    expect((await getExecution(ada, { id })).grants).toEqual([]);
    expect((await getExecution(ada, { id })).waiting_for?.join()).toContain('cannot report');
    await house.pass(5 * second);
    await house.pass(5 * second);
    expect(await statusOf(ada, id)).toBe('faulted');
    await house.pass(24 * hour);
    expect(house.provider.count('ensureAbsent')).toBe(0);
    expect(held()).toBe(true);
  });

  it('does not settle a grant: it is active when the provider says so (R6)', async () => {
    const { house, ada } = await open();
    // The provider accepts the grant call and does nothing. The read before the intent finds no access; the read after the call
    // cannot tell.
    house.provider.inject('ensurePresent', { kind: 'fails-later' });
    const gate = gateOf(house, 'ensurePresent');
    const id = await request(ada, { workflow: 'automatic', duration: 'PT30M' });
    const working = sweep(gate.ctx);
    await gate.reached;
    house.provider.inject('holds', unknown);
    gate.open();
    await working;
    expect(held()).toBe(false);
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'granting' }]);
    expect((await told('entitlement.grant_failed')).map(({ message }) => message).join()).toContain('cannot report');
    await house.pass(5 * second);
    expect(held()).toBe(true);
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'active' }]);
  });

  it('does not settle a revocation: it is repeated until the provider says that it is gone (R4)', async () => {
    const { house, ada } = await open();
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    house.provider.inject('ensureAbsent', { kind: 'fails-later' });
    house.provider.inject('holds', unknown);
    await house.pass(31 * minute);
    expect(held()).toBe(true);
    expect((await getExecution(ada, { id })).grants).not.toMatchObject([{ state: 'gone' }]);
    expect(await told('entitlement.revoked')).toHaveLength(0);
    expect((await told('entitlement.revoke_failed')).map(({ message }) => message).join()).toContain('cannot report');
    await house.pass(15 * second);
    expect(held()).toBe(false);
    expect(await told('entitlement.revoked')).toMatchObject([{ data: { verified: true } }]);
  });

  it('is believed when its connector never knows, and the ledger says that it was not verified', async () => {
    const state = createMemoryProvider({ now: () => new Date(0) });
    const catalog = approvalCatalog({ role: { providers: ['blind'], inherits: ['blind:read'] } });
    const providers = { blind: { provider: 'blind', description: 'A provider that cannot be asked' } };
    cast = await openCast({ catalog: { ...catalog, providers }, connectors: [blindConnector(state)] });
    const { house, ada } = cast;
    const id = await ask(house, ada, { workflow: 'automatic', duration: 'PT30M' });
    expect((await getExecution(ada, { id })).grants).toMatchObject([{ state: 'active' }]);
    expect(state.holds('ada@example.com', access)).toBe(true);
    await house.pass(hour);
    expect(state.holds('ada@example.com', access)).toBe(false);
    expect(await told('entitlement.granted')).toMatchObject([{ data: { verified: false } }]);
    expect(await told('entitlement.revoked')).toMatchObject([{ data: { verified: false } }]);
  });
});
