import {
  cancelExecution,
  listExecutions,
  listProviderIdentities,
  listProviderRoles,
  requestElevation,
  searchRoles,
} from '@belay/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SearchMemory, searchList } from '../src/catalog/search.js';
import { type Cast, catalogWith, openCast } from './support/stories.js';

interface Named {
  name: string;
  description: string;
}
const named = (...names: string[]): Named[] => names.map((name) => ({ name, description: '' }));
const textsOf = ({ name, description }: Named) => [name, description];
const search = async (items: Named[], q: string | undefined, memory = new Map<string, SearchMemory>()) =>
  (await searchList(items, textsOf, q, memory, 'list')).map(({ name }) => name);

describe('a ranked search', () => {
  it('has what is exactly it first, then what begins with it, then words, then parts, then what is spelt nearly so', async () => {
    const items = named('my-reporting', 'subreport', 'report', 'reporting', 'repord', 'unrelated', 'the report reader');
    expect(await search(items, 'report')).toEqual([
      'report',
      'reporting',
      expect.stringMatching(/my-reporting|the report reader/),
      expect.stringMatching(/my-reporting|the report reader/),
      'subreport',
      'repord',
    ]);
  });

  it('looks at every text, without case and accents, and wants every word', async () => {
    const items = [
      { name: 'a1', description: 'Écriture for the billing team' },
      { name: 'a2', description: 'Billing, to read' },
      { name: 'billing', description: '' },
    ];
    expect(await search(items, 'BILLING')).toEqual(['billing', 'a2', 'a1']);
    expect(await search(items, 'ecriture billing')).toEqual(['a1']);
    expect(await search(items, 'billing nothing-like-it')).toEqual([]);
  });

  it('keeps the order of the list where nothing is searched for, and one order of its own where something is', async () => {
    const items = named('b', 'c', 'a');
    for (const q of [undefined, '', '  ']) expect(await search(items, q)).toEqual(['b', 'c', 'a']);
    const alike = named('role-3', 'role-1', 'role-2');
    expect(await search(alike, 'role')).toEqual(['role-1', 'role-2', 'role-3']);
    expect(await search([...alike].reverse(), 'role')).toEqual(['role-1', 'role-2', 'role-3']);
  });

  it.each([
    '.*',
    '(a+)+$',
    '[',
    '\\',
    "'; drop table executions; --",
    '%',
    '_',
    '"',
    '__proto__',
    'constructor',
    '*',
    '\u{1f600}',
  ])('takes %s as letters and nothing else', async (q) => {
    const items = named('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', 'reader', `says ${q} here`);
    const found = await search(items, q);
    expect([found[0], found.includes('reader')]).toEqual([`says ${q} here`, false]);
  });

  it('makes its index once for an answer, of ten thousand entries too, and again only for another answer', async () => {
    const many = named(...Array.from({ length: 10_000 }, (_, index) => `role-${index} of team ${index % 97}`));
    const memory = new Map<string, SearchMemory>();
    expect((await search(many, 'role-4711', memory))[0]).toBe('role-4711 of team 55');
    const made = memory.get('list')?.ready;
    // Another array with the same entries, as the next response of a provider is; and words that are expensive to search for.
    expect((await search([...many], 'x'.repeat(2_000), memory)).length).toBe(0);
    expect((await search([...many], 'role '.repeat(400), memory)).length).toBe(10_000);
    expect(memory.get('list')?.ready).toBe(made);
    expect(await search([...many, ...named('brand new')], 'brand', memory)).toEqual(['brand new']);
    expect(memory.get('list')?.ready).not.toBe(made);
    expect(memory.size).toBe(1);
  });
});

describe('pages', () => {
  let cast: Cast;
  beforeAll(async () => {
    cast = await openCast({ people: ['ada', ...Array.from({ length: 24 }, (_, index) => `person${index + 10}`)] });
  });
  afterAll(() => cast[Symbol.asyncDispose]());

  it('of a provider’s identities are the whole, once each, in the order of the search', async () => {
    const all = await listProviderIdentities(cast.ada, { provider: 'memory', q: 'person' });
    expect([all.identities.length, all.next]).toEqual([24, null]);
    const read: string[] = [];
    let cursor: string | undefined;
    for (;;) {
      const page = await listProviderIdentities(cast.ada, { provider: 'memory', q: 'person', limit: 10, cursor });
      read.push(...page.identities.map(({ id }) => id));
      if (page.next === null) break;
      cursor = page.next;
    }
    expect(read).toEqual(all.identities.map(({ id }) => id));
    expect((await listProviderIdentities(cast.ada, { provider: 'memory' })).identities).toHaveLength(25);
    expect((await listProviderIdentities(cast.ada, { provider: 'memory', q: 'nobody-here' })).identities).toEqual([]);
  });

  it('reject a cursor of another list', async () => {
    const { next } = await listProviderIdentities(cast.ada, { provider: 'memory', q: 'person', limit: 1 });
    const cursor = next ?? '';
    for (const attempt of [
      () => listProviderIdentities(cast.ada, { provider: 'memory', q: 'ada', cursor }),
      () => listProviderRoles(cast.ada, { provider: 'memory', q: 'person', cursor }),
      () => listProviderIdentities(cast.ada, { provider: 'memory', q: 'person', cursor: '-1' }),
      () =>
        listProviderIdentities(cast.ada, { provider: 'memory', q: 'person', cursor: `1e9.${cursor.split('.')[1]}` }),
      () => listExecutions(cast.ada, { cursor }),
      () => listExecutions(cast.ada, { cursor: "' or 1=1 --" }),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ code: 'invalid', issues: [{ path: 'cursor' }] });
    }
  });

  it('of roles go on with the same configuration only', async () => {
    const { alan, house } = cast;
    const reader = (await searchRoles(alan, {})).roles.reader;
    expect(await searchRoles(alan, { limit: 1 })).toMatchObject({ roles: { reader }, next: null });
    const catalog = catalogWith({}, {}) as { roles: { reader: object } };
    const grown = { ...catalog, roles: { ...catalog.roles, writer: catalog.roles.reader } };
    await house.applyCatalog(grown);
    const first = await searchRoles(alan, { limit: 1 });
    const second = await searchRoles(alan, { limit: 1, cursor: first.next ?? '' });
    expect([...Object.keys(first.roles), ...Object.keys(second.roles)].sort()).toEqual(['reader', 'writer']);
    expect(second.next).toBe(null);
    await expect(searchRoles(alan, { limit: 1, cursor: first.next ?? '', provider: ['memory'] })).rejects.toThrow();
    await house.applyCatalog({ ...grown, server: { max_duration: 'PT9H' } });
    await expect(searchRoles(alan, { limit: 1, cursor: first.next ?? '' })).rejects.toThrow();
  });

  it('of executions go on where the last ended, although one of them has ended meanwhile', async () => {
    const { ada, alan } = cast;
    const made: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      const { output } = await requestElevation(ada, { role: 'reader', reason: `ticket ${count}` });
      made.unshift(output.execution_id);
    }
    const first = await listExecutions(ada, { limit: 2 });
    expect(first.executions.map(({ run_id }) => run_id)).toEqual(made.slice(0, 2));
    const cursor = first.next ?? '';
    await cancelExecution(ada, { id: cursor });
    const second = await listExecutions(ada, { limit: 2, cursor });
    const third = await listExecutions(ada, { limit: 2, cursor: second.next ?? '' });
    const rest = [...second.executions, ...third.executions].map(({ run_id }) => run_id);
    expect([rest, third.next]).toEqual([made.slice(2), null]);
    await expect(listExecutions(alan, { cursor })).rejects.toMatchObject({ code: 'invalid' });
  });
});
