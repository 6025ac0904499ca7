import { parseDuration } from '@belay/contract/durations';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inOnePiece } from '../src/breathe.js';
import type { Catalog } from '../src/configuration/catalog.js';
import type { SuggestedRole } from '../src/suggester.js';
import { lexicalSuggester } from '../src/suggestions/lexical.js';
import { listRequestable, longestAt } from '../src/suggestions/requestable.js';
import { type SettledSuggestion, settleSuggestions } from '../src/suggestions/settle.js';
import { clearPasted, readWords } from '../src/suggestions/words.js';
import { injections } from './fixtures/injections.js';
import {
  type CatalogDocument,
  catalogDocument,
  compileFixture,
  contextOf,
  engineer,
  sentences,
} from './fixtures/natural-language.js';

const now = new Date('2026-03-01T10:00:00.000Z');

async function suggest(catalog: Catalog, text: string, person = engineer): Promise<SettledSuggestion[]> {
  const requestable = await listRequestable(contextOf(catalog), person, catalog, inOnePiece);
  const roles = [...requestable.values()].map(({ described }) => described);
  const answers = await lexicalSuggester(catalog).suggest({ text, roles, now }, new AbortController().signal);
  return settleSuggestions(catalog, requestable, answers);
}

const first = async (catalog: Catalog, text: string) => (await suggest(catalog, text))[0];
const catalog = await compileFixture();

describe('what the matcher makes of words', () => {
  it('is the same each time', async () => {
    const text = 'read the orders in production';
    expect(await suggest(catalog, text)).toEqual(await suggest(await compileFixture(), text));
  });

  it('is the least access that fits', async () => {
    expect((await first(catalog, 'orders in the production database'))?.role).toBe('orders-db-read');
    expect((await first(catalog, 'change orders in the production database'))?.role).toBe('orders-db-write');
    expect((await first(catalog, 'production aws account'))?.role).toBe('aws-prod-readonly');
  });

  it('says by which words, as they were written', async () => {
    expect((await first(catalog, 'read the invoices'))?.why).toEqual(['read', 'invoices']);
  });

  it('heeds what is not wanted', async () => {
    expect((await first(catalog, 'the database, not production but staging'))?.role).toBe('staging-db-read');
    expect((await first(catalog, 'start virtual machines, not in azure'))?.role).toBe('aws-ec2-operator');
    expect((await first(catalog, 'start virtual machines, not in aws'))?.role).toBe('azure-vm-contributor');
  });

  it('takes a typing error', async () => {
    expect((await first(catalog, 'read invoicse for finance'))?.role).toBe('billing-read');
  });

  it('is cut to the longest that the role allows', async () => {
    expect((await first(catalog, 'superuser on production postgres for two days'))?.duration).toBe('PT1H');
  });

  it('is nothing rather than a guess', async () => {
    for (const text of ['everything', 'production', 'read', 'please help', '???', 'привет', '你好']) {
      expect(await suggest(catalog, text), text).toEqual([]);
    }
  });
});

describe('what a person may not have', async () => {
  const hiddenNames = ['orders-db-read', 'k8s-prod-view', 'billing-write', 'okta-helpdesk', 'aws-prod-admin'];
  const hide = (role: Record<string, unknown>, name: string) =>
    hiddenNames.includes(name)
      ? { ...role, permissions: { ...(role.permissions as object | undefined), groups: ['others'] } }
      : role;
  const without = (document: CatalogDocument): CatalogDocument => ({
    ...document,
    roles: Object.fromEntries(Object.entries(document.roles).filter(([name]) => !hiddenNames.includes(name))),
  });
  const hidden = await compileFixture(catalogDocument(hide));
  const absent = await compileFixture(without(catalogDocument()));

  it('changes nothing of what is suggested: neither the roles nor their order nor their words', async () => {
    for (const { text } of Object.values(sentences).flat()) {
      expect(await suggest(hidden, text), text).toEqual(await suggest(absent, text));
    }
    for (const text of [...injections, ...hiddenNames]) {
      expect(await suggest(hidden, text), text).toEqual(await suggest(absent, text));
    }
  });

  it('is suggested to the people who may request it', async () => {
    const others = { ...engineer, groups: ['others'] };
    expect((await suggest(hidden, 'read the orders in production', others))[0]?.role).toBe('orders-db-read');
  });

  it('has no words from a provider that they may not see', async () => {
    const document = catalogDocument();
    const provider = { provider: 'gcp', name: 'Zebra vault', permissions: { groups: ['others'] } };
    const role = document.roles['bigquery-read'];
    const both = await compileFixture({
      ...document,
      providers: { ...document.providers, zebra: provider },
      roles: {
        ...document.roles,
        'bigquery-read': { ...role, providers: ['gcp-analytics', 'zebra'] },
      },
    });
    expect(await suggest(both, 'zebra')).toEqual([]);
    for (const text of ['open the zebra vault', 'zebra bigquery', 'query zebra']) {
      expect(await suggest(both, text), text).toEqual(await suggest(catalog, text));
    }
    expect((await first(both, 'query bigquery'))?.providers).toEqual(['gcp-analytics']);
  });
});

describe('any answer of a suggester', async () => {
  const requestable = await listRequestable(contextOf(catalog), engineer, catalog, inOnePiece);
  const names = [...requestable.keys()];
  const anything = fc.record<SuggestedRole>({
    role: fc.oneof(fc.constantFrom(...names), fc.string(), fc.constantFrom('__proto__', 'constructor', 'nobody')),
    providers: fc.option(
      fc.array(fc.oneof(fc.constantFrom(...catalog.providers.keys()), fc.string()), { maxLength: 5 }),
      { nil: undefined },
    ),
    duration: fc.option(fc.oneof(fc.string(), fc.constantFrom('P10Y', 'PT0S', '-PT1H', 'P3650D', 'PT5M', '9999h')), {
      nil: undefined,
    }),
    score: fc.double(),
    why: fc.constant([]),
  });

  it('comes to something that may be requested', async () => {
    fc.assert(
      fc.property(fc.array(anything, { maxLength: 12 }), (answers) => {
        const settled = settleSuggestions(catalog, requestable, answers);
        expect(settled.length).toBeLessThanOrEqual(5);
        for (const one of settled) {
          const known = requestable.get(one.role);
          expect(known).toBeDefined();
          if (!known) continue;
          expect(one.providers.length).toBeGreaterThan(0);
          for (const id of one.providers) expect(known.providers).toContain(id);
          expect(one.workflow).toBe('approved');
          expect(parseDuration(one.duration)).toBeGreaterThan(0);
          expect(parseDuration(one.duration)).toBeLessThanOrEqual(longestAt(catalog, known.role, one.providers));
        }
      }),
      { numRuns: process.env.CI ? 500 : 100 },
    );
  });

  it('and any text leads there, without fail', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 500 }), async (text) => {
        for (const { role } of await suggest(catalog, text)) expect(names).toContain(role);
      }),
      { numRuns: process.env.CI ? 200 : 40 },
    );
  });
});

describe('reading words', () => {
  const terms = (text: string) => readWords(text).map(({ term }) => term);
  it('takes identifiers whole and in parts, and one word for many', async () => {
    expect(terms('s3:GetObject')).toEqual(['s3', 'getobject', 'get', 'object']);
    expect(terms('PROD k8s pods')).toEqual(['production', 'kubernetes', 'pod']);
    expect(terms('ｐｒｏｄ\u200buction')).toEqual(['production']);
  });
  it('knows a wish from its opposite', async () => {
    const negated = (text: string) => readWords(text).flatMap((word) => (word.negated ? [word.raw] : []));
    expect(negated('not production but staging')).toEqual(['production']);
    expect(negated("I don't need admin, only read")).toContain('admin');
    expect(negated('not authorized to perform: s3:GetObject')).toEqual([]);
    expect(negated(clearPasted('ada is not in the sudoers file'))).toEqual([]);
  });
  it('leaves out who was excluded', async () => {
    expect(clearPasted('User "orders" cannot list pods')).not.toContain('orders');
  });
});

describe('five hundred roles', () => {
  it('take a few milliseconds', async () => {
    const document = catalogDocument();
    const base = Object.entries(document.roles);
    const roles = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => {
        const [name, role] = base[index % base.length] ?? ['', {}];
        return [`${name}-team${index}`, { ...role, description: `${String(role.description)} of team${index}` }];
      }),
    );
    const large = await compileFixture({ ...document, roles });
    const started = performance.now();
    await suggest(large, 'read the orders of team7');
    const indexed = performance.now() - started;
    const times: number[] = [];
    for (const { text } of sentences.tuned) {
      const begun = performance.now();
      await suggest(large, `${text} of team${times.length}`);
      times.push(performance.now() - begun);
    }
    times.sort((a, b) => a - b);
    const at = (part: number) => (times[Math.floor(times.length * part)] ?? 0).toFixed(2);
    process.stdout.write(
      `500 roles: index ${indexed.toFixed(0)} ms once, then ${at(0.5)} ms median, ${at(0.95)} ms p95\n`,
    );
    expect((await suggest(large, 'read the orders in production of team28'))[0]?.role).toBe('orders-db-read-team28');
  });
});
