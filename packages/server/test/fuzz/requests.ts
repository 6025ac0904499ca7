import fc from 'fast-check';
import type { Operation, Schema } from './document.js';

/** The credentials that a request may have; a cookie is that of a browser. */
export const credentials = [
  'none',
  'requester',
  'approver',
  'bystander',
  'agent',
  'unknown',
  'malformed',
  'cookie',
] as const;
export type Credential = (typeof credentials)[number];

export interface FuzzRequest {
  operation: Operation;
  method: string;
  address: string;
  credential: Credential;
  headers: Record<string, string>;
  body: string | undefined;
}

type Filled = { path: Record<string, string>; query: [string, string][] };

/** Texts that have broken other services: injection, prototypes, templates, traversal, control characters, look-alikes, size. */
const hostile = [
  '',
  ' ',
  '\0',
  "' or 1=1 --",
  '"; drop table users; --',
  '.. | env',
  '$(touch x)',
  '`id`',
  '${env:BELAY_SECRET}',
  '{{7*7}}',
  '<script>alert(1)</script>',
  '../../etc/passwd',
  '..%2f..%2f',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  'NaN',
  '-1',
  '1e309',
  '9007199254740993',
  'true',
  '[]',
  '{}',
  '\ud800',
  '\u202eadmin',
  'ﬀ',
  'İ',
  '%',
  '%zz',
  '\r\nSet-Cookie: a=b',
  'a'.repeat(5000),
  'PT1H',
  'PT999999999999H',
  '-PT1H',
  'P1Y',
  '1h30m',
  '2026-02-30T00:00:00Z',
  'javascript:alert(1)',
  '//evil.example',
  'http://127.0.0.1@evil.example/',
  'http://169.254.169.254/latest/meta-data',
] as const;

export interface Vocabulary {
  /** Returns the words that exist: names, identifiers, tokens. */
  known(): readonly string[];
  /** Returns the known words for a field of this name; an empty list when any text fits. */
  fitting(name: string): readonly string[];
}

type Word = (name?: string) => fc.Arbitrary<string>;

/** Returns an arbitrary of requests: half are well-formed by the document, and half have errors and hostile texts in them. */
export function arbitraryRequest(
  operations: readonly Operation[],
  components: Record<string, Schema>,
  vocabulary: Vocabulary,
): fc.Arbitrary<FuzzRequest> {
  const { known, fitting } = vocabulary;
  const wild = fc.oneof(
    { weight: 6, arbitrary: fc.nat().map((at) => known()[at % known().length] ?? '') },
    { weight: 3, arbitrary: fc.constantFrom(...hostile) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  );
  const fit = (name: string) => fc.nat().map((at) => fitting(name)[at % fitting(name).length] ?? '');
  const tidyWord: Word = (name = '') => (fitting(name).length === 0 ? wild : fit(name));
  const anyWord: Word = (name = '') => (fitting(name).length === 0 ? wild : mostly(fit(name), wild));
  return fc
    .tuple(fc.constantFrom(...operations), fc.boolean())
    .chain(([operation, tidy]) => requestTo(operation, { components, wild, tidy, word: tidy ? tidyWord : anyWord }));
}

interface Means {
  components: Record<string, Schema>;
  /** Returns a word that fits a field; when not tidy, sometimes one that does not. */
  word: Word;
  wild: fc.Arbitrary<string>;
  /** Whether the request is well-formed throughout. Half of them are, because a request that is rejected early tests little. */
  tidy: boolean;
}

function requestTo(operation: Operation, means: Means): fc.Arbitrary<FuzzRequest> {
  const { wild, tidy, word } = means;
  const orElse = <T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>) => (tidy ? usual : mostly(usual, other));
  const named = (place: string) => operation.parameters.filter((each) => each.in === place);
  const path = fc.record(Object.fromEntries(named('path').map(({ name }) => [name, word(name)])));
  const declared = named('query').map(({ name, schema, required }) =>
    fc
      .array(value(schema, means, name).map(text), { minLength: required ? 1 : 0, maxLength: tidy || required ? 1 : 2 })
      .map((values) => values.map((each): [string, string] => [name, each])),
  );
  const stray = fc.array(fc.tuple(wild, wild), { maxLength: 1 });
  const query = fc
    .tuple(fc.tuple(...declared), orElse<[string, string][]>(fc.constant([]), stray))
    .map(([own, others]): [string, string][] => [...own.flat(), ...others]);
  return fc
    .record({
      method: orElse(
        fc.constant(operation.method),
        fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'),
      ),
      filled: fc.record({ path, query }),
      credential: orElse(
        fc.constantFrom<Credential>('requester', 'requester', 'approver', 'agent'),
        fc.constantFrom(...credentials),
      ),
      body: arbitraryBody(operation, means),
      headers: orElse<Record<string, string>>(
        fc.constantFrom('application/json', '*/*', 'text/html').map((accept) => ({ accept })),
        arbitraryHeaders(wild),
      ),
    })
    .map(({ method, filled, credential, body, headers }) => ({
      operation,
      method,
      address: addressOf(operation, filled),
      credential,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': body.type }) },
      body: body?.text,
    }));
}

const mostly = <T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 8, arbitrary: usual }, { weight: 2, arbitrary: other });

function addressOf({ path }: Operation, filled: Filled): string {
  const place = path.replace(/\{(\w+)\}/g, (_, name: string) => encode(filled.path[name] ?? ''));
  const search = filled.query.map(([name, given]) => `${encode(name)}=${encode(given)}`).join('&');
  return search === '' ? place : `${place}?${search}`;
}

/**
 * Encodes a text as a browser does, except for what only a program sends: a malformed percent-encoding, a text that is
 * already encoded, and lone surrogates.
 */
function encode(given: string): string {
  if (given === '%zz' || given === '..%2f..%2f') return given;
  return Array.from(given, (letter) =>
    letter.isWellFormed() ? encodeURIComponent(letter) : encodeSurrogate(letter),
  ).join('');
}

/** Returns the three bytes that UTF-8 would have for a lone surrogate, and forbids (RFC 3629, section 3). */
function encodeSurrogate(letter: string): string {
  const code = letter.charCodeAt(0);
  const bytes = [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)];
  return bytes.map((byte) => `%${byte.toString(16)}`).join('');
}

const text = (given: unknown): string => (typeof given === 'string' ? given : (JSON.stringify(given) ?? ''));

function arbitraryHeaders(wild: fc.Arbitrary<string>): fc.Arbitrary<Record<string, string>> {
  // Like every client, Node.js does not send control characters in a header.
  const visible = wild.map((given) => given.replace(/[^\x21-\x7e]/g, '').slice(0, 500));
  return fc.record(
    {
      accept: fc.constantFrom(
        'application/json',
        'text/html',
        '*/*',
        'text/html;q=0.9, application/json',
        'application/x-ndjson',
        'text/plain',
        'image/png',
        ';;;q=',
        'application/json;q=0',
      ),
      'idempotency-key': visible,
      'sec-fetch-site': fc.constantFrom('same-origin', 'cross-site', 'none', 'nonsense'),
      origin: fc.constantFrom('null', 'https://evil.example'),
      'x-request-id': visible,
      'x-forwarded-for': visible,
      'x-http-method-override': fc.constant('DELETE'),
    },
    { requiredKeys: [] },
  );
}

interface Body {
  type: string;
  text: string;
}

function arbitraryBody({ method, bodies }: Operation, means: Means): fc.Arbitrary<Body | undefined> {
  const { word, tidy } = means;
  const wrong: fc.Arbitrary<Body> = fc.record({
    type: fc.constantFrom(
      'application/json',
      'application/x-www-form-urlencoded',
      'text/plain',
      'application/xml',
      'nonsense',
      'multipart/form-data',
      'multipart/form-data; boundary=x',
      'application/json; charset=utf-16',
    ),
    text: fc.oneof(
      word(),
      fc.json(),
      fc.constantFrom(
        '{',
        '[1,2',
        '{"a":1}}',
        '[]',
        'null',
        '"text"',
        '[['.repeat(3000),
        '{"a":'.repeat(3000),
        '{"__proto__":{"admin":true}}',
        '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb',
      ),
    ),
  });
  if (bodies.length === 0) {
    const none = fc.constant(undefined);
    return tidy || method !== 'POST' ? none : mostly<Body | undefined>(none, wrong);
  }
  const right = fc.constantFrom(...bodies).chain(({ type, schema }): fc.Arbitrary<Body> => {
    if (type === 'text/plain') return word('state').map((given) => ({ type, text: given }));
    return value(schema, means, '').map((given) => encodeBody(type, given));
  });
  return tidy ? right : mostly<Body | undefined>(right, wrong);
}

function encodeBody(type: string, given: unknown): Body {
  if (type === 'application/json')
    return { type: 'application/json; charset=utf-8', text: JSON.stringify(given) ?? '' };
  const fields = Object.entries(given !== null && typeof given === 'object' ? given : { a: given });
  if (type === 'multipart/form-data') {
    const parts = fields.map(
      ([name, each]) =>
        `--b\r\nContent-Disposition: form-data; name="${name.replace(/[\r\n"]/g, '')}"\r\n\r\n${text(each)}\r\n`,
    );
    return { type: `${type}; boundary=b`, text: `${parts.join('')}--b--\r\n` };
  }
  return { type, text: fields.map(([name, each]) => `${encode(name)}=${encode(text(each))}`).join('&') };
}

const junk = fc.jsonValue({ maxDepth: 2 });

/** Returns an arbitrary of values of a schema; when not tidy, sometimes with any other value in its place. */
function value(schema: Schema, means: Means, name: string, depth = 0): fc.Arbitrary<unknown> {
  const usual = wellFormed(schema, means, name, depth);
  if (means.tidy) return usual;
  const anything = fc.oneof(
    means.wild,
    fc.constantFrom<unknown>(null, true, 0, -1, 1.5, [], {}, ['a', 'a'], { toString: 'x' }),
    junk,
  );
  return fc.oneof({ weight: 20, arbitrary: usual }, { weight: 1, arbitrary: anything });
}

function wellFormed(schema: Schema, means: Means, name: string, depth: number): fc.Arbitrary<unknown> {
  const { components, word, wild, tidy } = means;
  if (depth > 4) return word(name);
  const inner = (each: Schema, of = name): fc.Arbitrary<unknown> => value(each, means, of, depth + 1);
  if (schema.$ref !== undefined) return inner(components[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map((each) => inner(each)));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'integer' || type === 'number') {
    return tidy ? fc.integer({ min: 1, max: 100 }) : fc.oneof(fc.integer(), fc.constantFrom(0, 1, 500, 501, 2 ** 53));
  }
  if (type === 'boolean') return fc.boolean();
  if (type === 'array')
    return fc.uniqueArray(inner(schema.items ?? {}), {
      minLength: 1,
      maxLength: 3,
      selector: (each) => JSON.stringify(each) ?? '',
    });
  if (type !== 'object') return word(name);
  const { properties = {}, required = [] } = schema;
  const fields = Object.fromEntries(Object.entries(properties).map(([of, each]) => [of, inner(each, of)]));
  const needed = Object.fromEntries(Object.entries(fields).filter(([of]) => required.includes(of)));
  const whole = fc.record(fields, { requiredKeys: Object.keys(needed) });
  if (tidy) return fc.oneof(fc.record(needed), whole);
  const stray = fc.dictionary(wild, wild, { maxKeys: 1 });
  return mostly<unknown>(
    whole,
    fc.tuple(whole, stray).map(([own, more]) => ({ ...own, ...more })),
  );
}
