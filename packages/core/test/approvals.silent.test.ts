import { openDatabase } from '@belay/db';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { approve, ask, type Cast, deny, hour, openCast, statusOf } from './support/stories.js';

describe('a decision while the target is silent', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast({ timing: { earlyCheck: 50 } });
  });
  afterEach(() => cast[Symbol.asyncDispose]());
  const silence = () => cast.house.provider.inject('identities', { kind: 'hang' }, 1_000);
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

  it('denies without asking the target', async () => {
    const id = await ask(cast.house, cast.ada);
    silence();
    const before = asked();
    expect(await deny(cast.grace, id)).toMatchObject({ status: 'denied' });
    expect(asked()).toBe(before);
  });

  it('rejects the approval of a person about whom nothing is known there', async () => {
    const id = await ask(cast.house, cast.ada);
    silence();
    await expect(approve(cast.grace, id)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await statusOf(cast.ada, id)).toBe('waiting');
  });

  it('approves for a person who was looked up there lately, without asking again', async () => {
    const { house, ada, grace } = cast;
    await approve(grace, await ask(house, ada));
    const id = await ask(house, ada);
    silence();
    const before = asked();
    expect(await approve(grace, id)).toMatchObject({ status: 'approved' });
    expect(asked()).toBe(before);
  });

  it('approves in another process for a person who was looked up within the last day, and not after it', async () => {
    const { house, ada, grace } = cast;
    await approve(grace, await ask(house, ada));
    const id = await ask(house, ada);
    silence();
    const other = await elsewhere();
    expect(await approve(other.person, id)).toMatchObject({ status: 'approved' });
    while (house.provider.take({ operation: 'identities' })) continue;
    await house.pass(23 * hour);
    const later = await ask(house, ada);
    await house.pass(2 * hour);
    silence();
    const third = await elsewhere();
    await expect(approve(third.person, later)).rejects.toMatchObject({ code: 'unavailable' });
    await Promise.all([other.close(), third.close()]);
  });

  it('asks again about a person whose address has changed since', async () => {
    const { house, ada, grace } = cast;
    await approve(grace, await ask(house, ada));
    const id = await ask(house, ada);
    silence();
    await house.database.sql`update user_identities set email = 'hopper@example.com' where subject = 'grace'`;
    await expect(approve(grace, id)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('never lets a person decide who is known to be the one that would be elevated', async () => {
    const { house, ada, grace } = cast;
    await approve(grace, await ask(house, ada));
    const id = await ask(house, ada);
    silence();
    // The identity that was stored within the last day: Grace has this name at the provider.
    await house.database.sql`update known_identities set identity = 'ada@example.com'`;
    const other = await elsewhere();
    await expect(approve(other.person, id)).rejects.toMatchObject({ code: 'forbidden' });
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

  it('lets no person approve their own access while its provider is disabled', async () => {
    const { house, grace, alan } = cast;
    const { id, catalog } = await opaque();
    const { memory } = catalog.providers;
    await house.applyCatalog({ ...catalog, providers: { memory: { ...memory, enabled: false } } });
    await expect(approve(grace, id)).rejects.toMatchObject({ code: 'forbidden' });
    silence();
    await expect(approve(alan, id)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('rejects every approval while its provider is removed, and no denial', async () => {
    const { house, grace } = cast;
    const { id, catalog } = await opaque();
    await house.applyCatalog({ ...catalog, providers: {}, roles: {} });
    await expect(approve(grace, id)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await deny(grace, id)).toMatchObject({ status: 'denied' });
  });
});
