import { AccessError } from '@belay/contract/errors';
import { getExecution, requestElevation } from '@belay/core';
import { approvalCatalog, createHouse, type House } from '@belay/testkit/house';
import { describe, expect, it } from 'vitest';

const minute = 60_000;
const access = { role: 'read' };

async function granted(house: House) {
  const ada = await house.person('ada', ['engineers']);
  const { output } = await requestElevation(ada, {
    role: 'reader',
    workflow: 'automatic',
    reason: 'a test',
    duration: 'PT30M',
  });
  await house.work();
  return { ada, id: output.execution_id };
}

const switchedOff = { ...approvalCatalog(), providers: { memory: { provider: 'memory', enabled: false } } };

describe('a change of the configuration never makes access stay', () => {
  it('a provider that holds something on our account cannot be taken out', async () => {
    await using house = await createHouse();
    await granted(house);
    const without = { ...approvalCatalog(), providers: {}, roles: {} };
    const refusal = await house.applyCatalog(without).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(AccessError);
    expect((refusal as AccessError).issues).toMatchObject([{ path: 'providers.memory' }]);
    // Past the expiry, the revocation and the quarantine, nothing is owed at the provider, and it can be removed.
    await house.pass(31 * minute);
    await house.pass(16 * minute);
    await house.applyCatalog(without);
  });

  it('a provider that is switched off grants nothing more, and still gives up what it holds', async () => {
    await using house = await createHouse();
    const { ada } = await granted(house);
    expect(house.provider.holds('ada@example.com', access)).toBe(true);
    await house.applyCatalog(switchedOff);
    await expect(requestElevation(ada, { role: 'reader', reason: 'again' })).rejects.toBeInstanceOf(AccessError);
    await house.pass(31 * minute);
    expect(house.provider.holds('ada@example.com', access)).toBe(false);
  });

  it('a grant that waits for its provider fails when that is switched off', async () => {
    await using house = await createHouse();
    house.provider.inject('ensurePresent', { kind: 'throttle' }, 1);
    const { ada, id } = await granted(house);
    await house.applyCatalog(switchedOff);
    await house.pass(minute);
    const execution = await getExecution(ada, { id });
    expect(execution).toMatchObject({ status: 'faulted', error: { detail: expect.stringContaining('is disabled') } });
    await house.pass(16 * minute);
    expect(house.provider.held()).toEqual([]);
  });
});
