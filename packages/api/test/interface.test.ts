import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { serverRouter } from '../src/index.js';
import { describeApi } from '../src/openapi.js';

const text = readFileSync(new URL('../../../docs/interface.md', import.meta.url), 'utf8');

/** Addresses that the page names and the document does not have, with the reason. */
const elsewhere = new Map([
  ['GET /session/{provider}', 'of an agent or client'],
  ['POST /sessions', 'of an agent or client'],
  ['DELETE /session/{provider}', 'of an agent or client'],
  ['GET /belay.schema.json', 'a file beside the API'],
]);

/** Returns the operations that a text names in code spans, without their query. */
function readNames(markdown: string): string[] {
  const names = [...markdown.matchAll(/`(GET|HEAD|POST|PUT|PATCH|DELETE) (\/[^\s`?]*)[^`]*`/g)];
  return [...new Set(names.map(([, method, path]) => `${method} ${path}`))];
}

const inTables = readNames(
  text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .join('\n'),
);
const { paths } = describeApi(serverRouter, {
  baseUrl: 'https://belay.example.com',
  basePath: '/api/v1',
  version: '0',
});
const published = Object.entries(paths ?? {}).flatMap(([path, item]) =>
  Object.keys(item as object).map((method) => `${method.toUpperCase()} ${path}`),
);

describe('docs/interface.md beside the OpenAPI document', () => {
  it('has every method and path of the document, in a table or a sentence', () => {
    expect(published.length).toBeGreaterThan(90);
    const named = new Set(readNames(text));
    expect(published.filter((one) => !named.has(one))).toEqual([]);
  });

  it('names no operation that the document has not', () => {
    expect(inTables.length).toBeGreaterThan(80);
    const served = new Set(published);
    expect(readNames(text).filter((one) => !served.has(one) && !elsewhere.has(one))).toEqual([]);
    expect([...elsewhere.keys()].filter((one) => served.has(one) || !readNames(text).includes(one))).toEqual([]);
  });
});
