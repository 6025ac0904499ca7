import { getExecution } from '@belay/core';
import { openDatabase } from '@belay/db';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { access, approve, ask, type Cast, deny, hour, minute, openCast, statusOf } from './support/stories.js';

describe('a decision while the target is silent', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast({ timing: { earlyCheck: 50 } });
  });
  afterEach(() => cast[Symbol.asyncDispose]());
  const silence = () => cast.house.provider.inject('identities', { kind: 'throttle' }, 1_000);
  const asked = () => cast.house.provider.count('identities');
  /** Returns the same house as another process sees it: with an empty memory and the same rows. */
  const elsewhere = async () => {
    const { house, grace } = cast;
    const client = openDatabase(house.database.url, { max: 2 });
    const catalog = {
      current: () => house.catalog.current(),
      client: (provider: string) => {
        const ready = house.catalog.client(provider);
        return ready?.identities ? { ...ready, identities: { ...ready.identities } } : ready;
      },
    };
    return { person: { ...grace, db: client.db, catalog }, close: client.close };
  };

  const holds = () => cast.house.provider.holds('ada@example.com', access);
  const answer = () => {
    while (cast.house.provider.take({ operation: 'identities' })) continue;
  };

  it('denies without asking the target', async () => {
    const id = await ask(cast.house, cast.ada);
    silence();
    const before = asked();
    expect(await deny(cast.grace, id)).toMatchObject({ status: 'denied' });
    expect(asked()).toBe(before);
  });

  it('approves without asking the target, and grants nothing before the target has returned who the approver is', async () => {
    const { house, ada, grace } = cast;
    const id = await ask(house, ada);
    silence();
    const before = asked();
    expect(await approve(grace, id)).toMatchObject({ status: 'approved' });
    expect(asked()).toBe(before);
    await house.work();
    expect(holds()).toBe(false);
    answer();
    await house.pass(minute);
    expect(holds()).toBe(true);
  });

  it('rejects in another process the approval of a person who is known, since a lookup within the last day, to be the one that would be elevated', async () => {
    const { house, ada, grace } = cast;
    await approve(grace, await ask(house, ada));
    await house.work();
    const id = await ask(house, ada);
    silence();
    // The identity that was stored within the last day: Grace has this name at the provider.
    await house.database.sql`update known_identities set identity = 'ada@example.com'`;
    const other = await elsewhere();
    await expect(approve(other.person, id)).rejects.toMatchObject({ code: 'forbidden' });
    answer();
    await house.pass(25 * hour);
    const later = await ask(house, ada);
    silence();
    expect(await approve(other.person, later)).toMatchObject({ status: 'approved' });
    await other.close();
  });

  /** Requests access for Grace's account, whose address the target learns only afterwards. */
  const opaque = async () => {
    const { house, ada } = cast;
    const permissions = { groups: ['engineers'], delegates: { users: ['ada@example.com'] } };
    const catalog = approvalCatalog({ role: { permissions } }) as { providers: { memory: object } };
    await house.applyCatalog(catalog);
    const known = house.provider.options.people?.find(({ email }) => email === 'grace@example.com');
    if (!known) throw new Error('The target does not know grace');
    Object.assign(known, { id: 'U-7', email: '' });
    const id = await ask(house, ada, { identities: ['U-7'] });
    known.email = 'grace@example.com';
    return { id, catalog };
  };

  it('grants nothing that was approved by the person to whom it would be granted', async () => {
    const { house, ada, grace } = cast;
    const { id } = await opaque();
    expect(await approve(grace, id)).toMatchObject({ status: 'approved' });
    await house.work();
    expect(house.provider.holds('U-7', access)).toBe(false);
    expect(await getExecution(ada, { id })).toMatchObject({ status: 'faulted', grants: [] });
  });

  it('grants nothing that such a person approved while the target was silent', async () => {
    const { house, ada, grace } = cast;
    const { id } = await opaque();
    silence();
    await approve(grace, id);
    await house.work();
    answer();
    await house.pass(minute);
    expect(house.provider.holds('U-7', access)).toBe(false);
    expect(await statusOf(ada, id)).toBe('faulted');
  });

  it('lets no person approve their own access while its provider is disabled', async () => {
    const { house, ada, grace } = cast;
    const { id, catalog } = await opaque();
    const { memory } = catalog.providers;
    await house.applyCatalog({ ...catalog, providers: { memory: { ...memory, enabled: false } } });
    await approve(grace, id);
    await house.work();
    expect(house.provider.holds('U-7', access)).toBe(false);
    await house.applyCatalog(catalog);
    await house.pass(minute);
    expect(house.provider.holds('U-7', access)).toBe(false);
    expect(await statusOf(ada, id)).toBe('faulted');
  });
});
