import { canonicalJson, digestOf } from '@belay/contract/canonical';
import { pathText } from '@belay/contract/errors';
import {
  type ActorContext,
  applyCatalog,
  breatheBy,
  type Catalog,
  can,
  catalogSchema,
  compileCatalog,
  openCatalog,
  searchRoles,
} from '@belay/core';
import { type Connector, createRegistry } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { createTestDatabase } from '@belay/testkit/database';
import { approvalCatalog, createHouse } from '@belay/testkit/house';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inOnePiece } from '../src/breathe.js';
import { readStoredDocument } from '../src/catalog/read-stored.js';
import { type ConfigurationIssue, issuesOfShape } from '../src/configuration/issue.js';
import { parseCatalog } from '../src/configuration/parse.js';
import { writeDocument } from '../src/configuration/write-document.js';
import type { Context, UserActor } from '../src/context.js';
import { createCatalogIndex } from '../src/suggestions/catalog-index.js';
import { listRequestable } from '../src/suggestions/requestable.js';

type Document = { providers: object; workflows: object; roles: Record<string, object> };
const base = approvalCatalog() as Document;
const some = 1_000;

const manyRoles = (more: (index: number) => object = () => ({})): Document => ({
  ...base,
  roles: Object.fromEntries(
    Array.from({ length: some }, (_, index) => [
      `role-${index}`,
      { providers: ['memory'], workflows: ['approved'], inherits: [`memory:role-${index}`], ...more(index) },
    ]),
  ),
});

/** Returns a clock that advances by a millisecond at each reading, and counts the turns of the event loop meanwhile. */
function countingClock() {
  const seen = { looks: 0, turns: 0, sinceLook: 0, most: 0 };
  const breathe = breatheBy(() => {
    seen.looks += 1;
    seen.sinceLook = 0;
    return seen.looks;
  });
  const memory = createMemoryConnector() as Connector;
  const planning: Connector = {
    ...memory,
    plan: (...given) => {
      seen.sinceLook += 1;
      seen.most = Math.max(seen.most, seen.sinceLook);
      return memory.plan?.(...given) ?? { ok: true, accesses: [] };
    },
  };
  let counting = true;
  const count = () => {
    seen.turns += 1;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  return {
    seen,
    breathe,
    connectors: createRegistry([planning]),
    stop: () => {
      counting = false;
    },
  };
}

describe('a catalog with many roles', () => {
  const resolve = () => undefined;

  it('is compiled in slices: the clock is looked at for every role, and others have their turn', async () => {
    const { seen, breathe, connectors, stop } = countingClock();
    const result = await compileCatalog(manyRoles(), { connectors, resolve, breathe });
    stop();
    expect(result.ok).toBe(true);
    // Once each for its shape, its digest and its access.
    expect(seen.looks).toBeGreaterThan(3 * some);
    expect(seen.turns).toBeGreaterThan((3 * some) / 20);
    expect(seen.most).toBe(1);
  });

  it('is made searchable in slices', async () => {
    const { seen, breathe, connectors, stop } = countingClock();
    const result = await compileCatalog(manyRoles(), { connectors, resolve });
    if (!result.ok) throw new Error(JSON.stringify(result.issues));
    await createCatalogIndex(result.catalog, breathe);
    stop();
    expect(seen.looks).toBeGreaterThan(2 * some);
    expect(seen.turns).toBeGreaterThan((2 * some) / 20);
  });

  it('is searched for what a person may request in slices', async () => {
    const { seen, breathe, connectors, stop } = countingClock();
    const result = await compileCatalog(manyRoles(), { connectors, resolve });
    if (!result.ok) throw new Error(JSON.stringify(result.issues));
    const { catalog } = result;
    const user = { kind: 'user', id: '1', email: 'ada@example.com', groups: [], provider: 'p' } as unknown as UserActor;
    const client = () => ({ authorizer: {} });
    const ctx = { catalog: { current: () => catalog, client } } as unknown as Context;
    const [looks, turns] = [seen.looks, seen.turns];
    expect((await listRequestable(ctx, user, catalog, breathe)).size).toBe(some);
    stop();
    expect(seen.looks - looks).toBeGreaterThanOrEqual(some);
    expect(seen.turns - turns).toBeGreaterThan(some / 20);
  });

  it('is stored, read and taken in force in slices, and the old one stays in force until it is whole', async () => {
    const { breathe, seen, connectors, stop } = countingClock();
    await using database = await createTestDatabase();
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    await using house = await createHouse();
    const { delay, timing } = house.ctx;
    const options = { connectors, resolve, breathe };
    await applyCatalog(database.db, { document: base, source: 'test' }, options);
    const catalog = await openCatalog({ db: database.db, log, timing, delay, now: Date.now, ...options });
    const before = catalog.current();
    await applyCatalog(database.db, { document: manyRoles(), source: 'test' }, options);
    seen.looks = 0;
    seen.turns = 0;
    const refreshing = catalog.refresh();
    const during = new Set<Catalog>();
    let done = false;
    const look = () => {
      if (done) return;
      during.add(catalog.current());
      setImmediate(look);
    };
    look();
    await refreshing;
    done = true;
    stop();
    expect([...during].filter((one) => one !== before && one.roles.size !== some)).toEqual([]);
    expect(during.has(before)).toBe(true);
    expect(catalog.current()).toMatchObject({ version: 2 });
    expect(seen.looks).toBeGreaterThan(4 * some);
    await catalog.close();
  });

  it('is never replaced by an older one that was compiled for longer', async () => {
    await using house = await createHouse({ catalog: manyRoles() });
    const slow = house.catalog.refresh({ reread: true });
    await house.applyCatalog(base);
    await Promise.all([slow, house.catalog.refresh()]);
    expect(house.catalog.current().roles.size).toBe(Object.keys(base.roles).length);
  });
});

describe('what is done in pieces is what the whole is', () => {
  const role = { providers: ['memory'], workflows: ['approved'] };
  const broken: [string, unknown][] = [
    ['nothing', undefined],
    ['a text', 'roles'],
    ['a list', [role]],
    ['an empty mapping', {}],
    ['sections of another type', { providers: 'none', roles: [role], workflows: null }],
    ['unknown keys everywhere', { rolls: {}, server: { a: 1 }, roles: { a: { ...role, b: 1 } }, services: { c: {} } }],
    ['names that cannot be', { roles: { '-a': role, '': role, ['__proto__']: role }, providers: { 'a b': {} } }],
    [
      'faults in several sections',
      { workflows: { w: {} }, roles: { a: {}, b: { providers: [] } }, providers: { p: {} } },
    ],
    [
      'faults out of order',
      { zzz: 1, workflows: { w: 1 }, version: [], roles: { r: 1 }, server: 1, providers: { p: 1 } },
    ],
    ['what is right', base],
  ];

  it.each(broken)('for the shape of %s', async (_name, document) => {
    const whole = catalogSchema.safeParse(document, { reportInput: true });
    const parts = await parseCatalog(document, inOnePiece);
    if (parts.ok) expect(parts.document).toEqual(whole.data);
    else {
      const issues = whole.error?.issues.flatMap((issue) => issuesOfShape(issue, catalogSchema, pathText));
      const told = (issue: ConfigurationIssue) => ({ ...issue, known: [...(issue.known?.() ?? [])] });
      expect(parts.issues.map(told)).toEqual(issues?.map(told));
    }
  });

  it('for text and digest', async () => {
    const json = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue())));
    await fc.assert(
      fc.asyncProperty(json, async (document) => {
        const { text, digest } = await writeDocument(document, inOnePiece);
        expect(digest).toBe(digestOf(document));
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(document)));
      }),
      { numRuns: 200 },
    );
  });

  it('for what is stored and read again', async () => {
    await using database = await createTestDatabase();
    const document = {
      server: {},
      version: null,
      nothing: [],
      text: '123',
      roles: { a: null, ['__proto__']: { b: '"null"' }, c: '{}', d: { e: [1, '1', { f: 12345678901 }] } },
    };
    await database.sql`
      insert into catalogs (version, document, digest, source)
      values (7, ${JSON.stringify(document)}::text::jsonb, 'digest', 'test')`;
    const read = await readStoredDocument(database.db, 7, inOnePiece);
    expect(canonicalJson(read)).toBe(canonicalJson(document));
    expect(Object.getPrototypeOf(read.roles)).toBe(Object.prototype);
  });
});

describe('a page of many roles', () => {
  const connectors = createRegistry([createMemoryConnector() as Connector]);
  const contextOf = (catalog: Catalog, email: string, groups: string[]) =>
    ({
      catalog: { current: () => catalog },
      clock: () => new Date(),
      actor: { kind: 'user', id: '1', email, name: email, groups, provider: 'p', subject: 's', loginId: 'l' },
    }) as unknown as ActorContext;
  const compiled = async (document: Document) => {
    const result = await compileCatalog(document, { connectors, resolve: () => undefined });
    if (!result.ok) throw new Error(JSON.stringify(result.issues));
    return result.catalog;
  };
  /** Counts how often `enabled` of a role is read, which every decision about the role begins with. */
  const counted = (catalog: Catalog) => {
    const seen = { asked: 0 };
    const roles = [...catalog.roles].map(([name, role]) => {
      const watched = Object.defineProperty({ ...role }, 'enabled', {
        get: () => {
          seen.asked += 1;
          return role.enabled;
        },
      });
      return [name, watched] as const;
    });
    return { seen, catalog: { ...catalog, roles: new Map(roles) } };
  };

  it('is decided about role by role until it is full, not for all of them', async () => {
    const { seen, catalog } = counted(
      await compiled(manyRoles((index) => (index % 2 ? { permissions: { groups: ['odd'] } } : {}))),
    );
    const ctx = contextOf(catalog, 'ada@example.com', ['odd']);
    let cursor: string | undefined;
    const names: string[] = [];
    do {
      seen.asked = 0;
      const { roles, next } = await searchRoles(ctx, { limit: 50, cursor });
      // Each role is described when it is first shown, which reads `enabled` again.
      expect(seen.asked).toBeLessThanOrEqual(102);
      names.push(...Object.keys(roles));
      cursor = next ?? undefined;
    } while (cursor !== undefined);
    expect(names).toEqual([...catalog.roles.keys()]);
  });

  it('is described in slices when all are wanted', async () => {
    const { seen, breathe, stop } = countingClock();
    await breathe();
    const catalog = await compiled(manyRoles());
    let looks = 0;
    // The clock advances by a millisecond at each reading, so every slice is 15 roles long.
    const ctx = {
      ...contextOf(catalog, 'ada@example.com', []),
      clock: () => {
        looks += 1;
        return new Date(looks);
      },
    };
    const { turns } = seen;
    expect(Object.keys((await searchRoles(ctx, {})).roles)).toHaveLength(some);
    stop();
    expect(looks).toBeGreaterThanOrEqual(some);
    expect(seen.turns - turns).toBeGreaterThan(some / 20);
  });

  it('asks nothing about roles that name others', async () => {
    const { seen, catalog } = counted(
      await compiled(manyRoles((index) => ({ permissions: { groups: [`team-${index % 100}`] } }))),
    );
    const { roles } = await searchRoles(contextOf(catalog, 'ada@example.com', ['team-7']), {});
    expect(Object.keys(roles)).toHaveLength(some / 100);
    expect(seen.asked).toBeLessThanOrEqual((2 * some) / 100);
  });

  it('has what deciding about every role would leave', async () => {
    const users = fc.subarray(['ada@example.com', 'Ada@Example.com', 'grace@example.com']);
    const groups = fc.subarray(['a', 'b', 'c']);
    const permissions = fc.option(fc.record({ users, groups }, { requiredKeys: [] }), { nil: undefined });
    const person = fc.record({
      email: fc.constantFrom('ada@example.com', 'ADA@example.com', 'alan@example.com', 'no address'),
      groups,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(permissions, { maxLength: 12 }),
        person,
        fc.integer({ min: 1, max: 4 }),
        async (all, who, limit) => {
          const roles = Object.fromEntries(
            all.map((one, index) => [
              `r${index}`,
              {
                providers: ['memory'],
                workflows: ['approved'],
                inherits: ['memory:a'],
                ...(one ? { permissions: one } : {}),
              },
            ]),
          );
          const catalog = await compiled({ ...base, roles });
          const ctx = contextOf(catalog, who.email, who.groups);
          const visible = [...catalog.roles.values()]
            .filter((role) => can(ctx.actor, 'view', { role }))
            .map(({ name }) => name);
          expect(Object.keys((await searchRoles(ctx, {})).roles)).toEqual(visible);
          const paged: string[] = [];
          for (let cursor: string | null | undefined; cursor !== null; ) {
            const page = await searchRoles(ctx, { limit, cursor });
            paged.push(...Object.keys(page.roles));
            cursor = page.next;
          }
          expect(paged).toEqual(visible);
        },
      ),
      { numRuns: 200 },
    );
  });
});
