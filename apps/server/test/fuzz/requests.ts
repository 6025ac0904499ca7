import fc from 'fast-check';
import type { Operation, Schema } from './document.js';

/** Whose credential a request carries; a cookie is a browser's. */
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

/** What has broken other services: injection, prototypes, templates, traversal, control characters, look-alikes, size. */
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

/** A well-formed request to an operation with things put wrong in it, by what the document says and by what people try. */
export function arbitraryRequest(
  operations: readonly Operation[],
  components: Record<string, Schema>,
  known: () => readonly string[],
): fc.Arbitrary<FuzzRequest> {
  const word = fc.oneof(
    { weight: 6, arbitrary: fc.nat().map((at) => known()[at % known().length] ?? '') },
    { weight: 3, arbitrary: fc.constantFrom(...hostile) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  );
  return fc.constantFrom(...operations).chain((operation) => {
    const path = fc.record(
      Object.fromEntries(operation.parameters.filter((each) => each.in === 'path').map(({ name }) => [name, word])),
    );
    const named = operation.parameters
      .filter((each) => each.in === 'query')
      .map(({ name, schema, required }) =>
        fc
          .array(value(schema, components, word).map(text), {
            minLength: required ? 1 : 0,
            maxLength: required ? 1 : 2,
          })
          .map((values) => values.map((each): [string, string] => [name, each])),
      );
    const stray = fc.array(fc.tuple(word, word), { maxLength: 1 });
    const query = fc
      .tuple(fc.tuple(...named), fc.oneof({ weight: 9, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: stray }))
      .map(([declared, others]): [string, string][] => [...declared.flat(), ...others]);
    return fc
      .record({
        method: mostly(
          fc.constant(operation.method),
          fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'),
        ),
        filled: fc.record({ path, query }),
        credential: mostly(
          fc.constantFrom<Credential>('requester', 'approver', 'agent'),
          fc.constantFrom(...credentials),
        ),
        body: arbitraryBody(operation, components, word),
        headers: arbitraryHeaders(word),
      })
      .map(({ method, filled, credential, body, headers }) => ({
        operation,
        method,
        address: addressOf(operation, filled),
        credential,
        headers: { ...headers, ...(body === undefined ? {} : { 'content-type': body.type }) },
        body: body?.text,
      }));
  });
}

const mostly = <T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 8, arbitrary: usual }, { weight: 2, arbitrary: other });

function addressOf({ path }: Operation, filled: Filled): string {
  const place = path.replace(/\{(\w+)\}/g, (_, name: string) => encode(filled.path[name] ?? ''));
  const search = filled.query.map(([name, given]) => `${encode(name)}=${encode(given)}`).join('&');
  return search === '' ? place : `${place}?${search}`;
}

/** As a browser would; a lone surrogate or a stray percent sign goes out as it is, as only a program would send it. */
function encode(given: string): string {
  if (given === '%zz' || given === '..%2f..%2f') return given;
  return encodeURIComponent(given.toWellFormed());
}

const text = (given: unknown): string => (typeof given === 'string' ? given : (JSON.stringify(given) ?? ''));

function arbitraryHeaders(word: fc.Arbitrary<string>): fc.Arbitrary<Record<string, string>> {
  // Node refuses to send control characters in a header, and so does every client.
  const visible = word.map((given) => given.replace(/[^\x21-\x7e]/g, '').slice(0, 500));
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

function arbitraryBody(
  { method, bodies }: Operation,
  components: Record<string, Schema>,
  word: fc.Arbitrary<string>,
): fc.Arbitrary<Body | undefined> {
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
      word,
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
  if (bodies.length === 0)
    return mostly<Body | undefined>(fc.constant(undefined), method === 'POST' ? wrong : fc.constant(undefined));
  const right = fc.constantFrom(...bodies).chain(({ type, schema }): fc.Arbitrary<Body> => {
    if (type === 'text/plain') return word.map((given) => ({ type, text: given }));
    return value(schema, components, word).map((given) => encodeBody(type, given));
  });
  return mostly<Body | undefined>(right, wrong);
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

/** A value of the schema most of the time, and now and then anything else in its place. */
function value(
  schema: Schema,
  components: Record<string, Schema>,
  word: fc.Arbitrary<string>,
  depth = 0,
): fc.Arbitrary<unknown> {
  const anything = fc.oneof(
    word,
    fc.constantFrom<unknown>(null, true, 0, -1, 1.5, [], {}, ['a', 'a'], { toString: 'x' }),
    junk,
  );
  const usual = wellFormed(schema, components, word, depth);
  return fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: anything });
}

function wellFormed(
  schema: Schema,
  components: Record<string, Schema>,
  word: fc.Arbitrary<string>,
  depth: number,
): fc.Arbitrary<unknown> {
  if (depth > 4) return word;
  const inner = (each: Schema): fc.Arbitrary<unknown> => value(each, components, word, depth + 1);
  if (schema.$ref !== undefined) return inner(components[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map(inner));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'integer' || type === 'number') return fc.oneof(fc.integer(), fc.constantFrom(0, 1, 500, 501, 2 ** 53));
  if (type === 'boolean') return fc.boolean();
  if (type === 'array') return fc.array(inner(schema.items ?? {}), { maxLength: 3 });
  if (type === 'object') {
    const { properties = {}, required = [] } = schema;
    const known = fc.record(Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, inner(each)])), {
      requiredKeys: required.filter((name) => name in properties),
    });
    const stray = fc.dictionary(word, word, { maxKeys: 1 });
    return mostly<unknown>(
      known,
      fc.tuple(known, stray).map(([fields, more]) => ({ ...fields, ...more })),
    );
  }
  return word;
}
