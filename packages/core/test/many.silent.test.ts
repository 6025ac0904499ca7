import { decideApprovals, requestManyElevations } from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, describe, expect, it } from 'vitest';
import { ask, type Cast, openCast } from './support/stories.js';

/** One call about many requests, while a provider is silent. */

const many = 12;
const timing = { earlyCheck: 200 };

describe('beside a silent provider, one call', () => {
  let cast: Cast | undefined;
  afterEach(async () => {
    await cast?.[Symbol.asyncDispose]();
    cast = undefined;
  });
  /** Makes the provider silent. Returns a function that returns the number of calls since. */
  const fallSilent = () => {
    const { provider } = (cast as Cast).house;
    for (const operation of ['identities', 'target', 'pin', 'holds'] as const) {
      provider.inject(operation, { kind: 'hang' }, 1_000);
    }
    const before = provider.count();
    return () => provider.count() - before;
  };

  it('requests many roles, and waits no longer than for a few of them', async () => {
    const { roles, ...rest } = approvalCatalog() as { roles: { reader: object } };
    const names = Array.from({ length: many }, (_, n) => `reader${n}`);
    const all = Object.fromEntries(names.map((name) => [name, roles.reader]));
    cast = await openCast({ catalog: { ...rest, roles: all }, timing });
    const asked = fallSilent();
    const done = await requestManyElevations(cast.ada, { roles: names, reason: 'a ticket', duration: 'PT30M' });
    expect(done).toMatchObject({ requested: many, rejected: 0 });
    expect(asked()).toBeLessThanOrEqual(4);
  });

  it('decides on many requests, and waits for no provider', async () => {
    cast = await openCast({ timing });
    const { house, grace } = cast;
    const people = await Promise.all(
      Array.from({ length: many }, (_, n) => house.person(`engineer${n}`, ['engineers'])),
    );
    Object.assign(house.provider.options, { people: undefined });
    for (const person of people) await ask(house, person);
    const rows = await house.database.sql<{ id: string; digest: string }[]>`
      select id, request_digest as digest from approvals`;
    const asked = fallSilent();
    const done = await decideApprovals(grace, {
      verdict: 'approve',
      ids: rows.map(({ id }) => id),
      request_digests: rows.map(({ digest }) => digest),
      via: 'api',
    });
    expect(done).toMatchObject({ decided: many, rejected: 0 });
    expect(asked()).toBe(0);
  });
});
