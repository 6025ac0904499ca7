import { approvalCatalog } from '@belay/testkit/house';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Directory, openDirectory, patchOf } from './support/directory.js';

let directory: Directory;
const ids: string[] = [];
beforeAll(async () => {
  directory = await openDirectory({ catalog: approvalCatalog() });
  ids.push(
    await directory.add({ userName: 'ada@example.com' }),
    await directory.add({ userName: 'grace@example.com' }),
  );
  const { body } = await directory.call('POST', '/Groups', { displayName: 'engineers', members: [{ value: ids[0] }] });
  ids.push(String(body.id));
});
afterAll(() => directory[Symbol.asyncDispose]());

const words = fc.constantFrom(
  'active',
  'Active',
  'userName',
  'displayName',
  'members',
  'emails',
  'value',
  'name',
  'emails[type eq "work"].value',
  'members[value eq "x"]',
  'urn:ietf:params:scim:schemas:core:2.0:User:active',
  '__proto__',
  'constructor',
  'False',
  'Replace',
  'remove',
  '\u0000',
  '\ud800',
  '%',
);
const text = fc.oneof(words, fc.string({ maxLength: 40 }));
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.boolean(),
    fc.integer(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(text, tie('value'), { maxKeys: 4 }),
  ),
}));
const operation = fc.record(
  { op: fc.oneof(fc.constantFrom('add', 'Replace', 'remove'), value), path: fc.oneof(text, value), value },
  { requiredKeys: ['op'] },
);
const body = fc.oneof(
  fc.array(operation, { maxLength: 3 }).map((operations) => patchOf(...operations)),
  fc.record({ userName: text, displayName: text, active: value, emails: value, members: value }, { requiredKeys: [] }),
  value,
  fc.string(),
);
const path = fc
  .tuple(
    fc.constantFrom('/Users', '/Groups', '/Schemas', '/ResourceTypes', '/ServiceProviderConfig', '/Bulk', ''),
    fc.oneof(fc.constant(''), fc.nat(2).map(String), fc.constant('.search'), text),
    fc.dictionary(fc.constantFrom('filter', 'startIndex', 'count', 'attributes', 'excludedAttributes'), text),
  )
  .map(([collection, id, query]) => ({ collection, id, query: new URLSearchParams(query).toString() }));

it('returns SCIM for any request of a directory, and never an error of the server', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'PATCH', 'DELETE', 'OPTIONS'),
      path,
      body,
      async (method, { collection, id, query }, sent) => {
        const last = /^[0-2]$/.test(id) ? ids[Number(id)] : encodeURIComponent(id.toWellFormed());
        const address = `${collection}${last === '' ? '' : `/${last}`}${query === '' ? '' : `?${query}`}`;
        const answer = await directory.call(method, address, method === 'GET' ? undefined : sent);
        expect(answer.status, `${method} ${address} ${JSON.stringify(answer.body)}`).toBeLessThan(500);
        if (answer.status === 204) return;
        expect(answer.headers['content-type']).toContain('application/scim+json');
        expect(answer.body).toHaveProperty('schemas');
      },
    ),
    {
      numRuns: Number(process.env.BELAY_TEST_REQUESTS ?? (process.env.CI ? 1_000 : 200)),
      seed: Number(process.env.BELAY_TEST_SEED ?? 20261122),
    },
  );
});

it.each([
  ['no token', {}, 401],
  ['a token that was never made', { authorization: `Bearer belay-scim.${'A'.repeat(43)}` }, 401],
  ['another scheme', { authorization: 'Basic Zm9vOmJhcg==' }, 401],
  ['a body that is no JSON', { 'content-type': 'text/plain' }, 415],
  ['a body that is too long', { 'content-length': String(2 * 1024 * 1024) }, 413],
])('rejects %s with the status and the shape of SCIM', async (_what, headers, status) => {
  const given = status === 401 ? { authorization: '', ...headers } : headers;
  const answer = await directory.call(
    'POST',
    '/Users',
    { userName: 'new@example.com' },
    given as Record<string, string>,
  );
  expect(answer).toMatchObject({
    status,
    body: { schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: String(status) },
  });
});
