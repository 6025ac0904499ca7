import { serverRouter } from '@belay/api';
import { describeApi } from '@belay/api/openapi';
import { publishedCodes } from '@belay/contract/errors';
import { enrollAgent, seal } from '@belay/core';
import { type Answer, send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readOperations, type Schema } from './document.js';
import { arbitraryRequest, type Credential, type FuzzRequest } from './requests.js';

// BELAY_TEST_REQUESTS sets the number of requests (20000 for the long form), and BELAY_TEST_SEED the seed.
const requests = Number(process.env.BELAY_TEST_REQUESTS ?? 3000);
const seed = Number(process.env.BELAY_TEST_SEED ?? 20261121);

const document = describeApi(serverRouter, { baseUrl: 'http://127.0.0.1:8080', basePath: '/api/v1', version: '0.1.0' });
const components = (document.components?.schemas ?? {}) as Record<string, Schema>;
const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }), ['date-time', 'date']);
ajv.addSchema({ $id: 'api', components: { schemas: closed(components) } });

/**
 * Returns schemas that allow no additional fields. The document allows them for later versions, but this version must send only
 * fields that it declares.
 */
function closed<Given>(given: Given): Given {
  if (typeof given !== 'object' || given === null) return given;
  if (Array.isArray(given)) return given.map(closed) as Given;
  const inner = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, closed<unknown>(value)]));
  const open = 'properties' in given && typeof given.properties === 'object' && !('additionalProperties' in given);
  return (open && 'type' in given ? { ...inner, additionalProperties: false } : inner) as Given;
}

/** Validators by schema. The document's references to itself are resolved in the schema `api`. */
const validators = new Map<Schema, (given: unknown) => string[]>();
function validator(schema: Schema): (given: unknown) => string[] {
  const found = validators.get(schema);
  if (found !== undefined) return found;
  const compiled = ajv.compile(
    JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/components', '"api#/components')) as object,
  );
  const validate = (given: unknown) =>
    compiled(given) ? [] : (compiled.errors ?? []).map(({ instancePath, message }) => `${instancePath}: ${message}`);
  validators.set(schema, validate);
  return validate;
}

let world: World;
let tokens: Record<'requester' | 'approver' | 'bystander' | 'agent', string>;
/** Known words by the field that they fit. Words of responses are added during the run. */
const words: Record<string, string[]> = {
  role: ['reader', 'reader', 'secret'],
  provider: ['store', 'demo', 'hidden'],
  providers: ['store'],
  name: ['approve-and-grant', 'reader', 'build-3'],
  workflow: ['approve-and-grant'],
  workflows: ['approve-and-grant'],
  authenticator: ['demo'],
  reason: ['An incident', 'read the store for an hour'],
  description: ['Read the store'],
  duration: ['PT5M', '15m'],
  identities: ['rita@example.test'],
  verdict: ['approve', 'deny'],
  type: ['belay.approval.decided', 'anything'],
  since: ['2026-01-01T00:00:00Z'],
  until: ['2100-01-01T00:00:00Z'],
  timestamp: ['2026-01-01T00:00:00.000Z'],
  level: ['info', 'error'],
  scopes: ['openid', 'email'],
  redirect_uri: ['http://127.0.0.1:5999/back'],
  callback: ['/api/v1/roles', 'http://127.0.0.1:5999/back'],
  id: [],
  execution_id: [],
  workflow_id: [],
  request_digest: [],
  state: [],
  input: [],
};

beforeAll(async () => {
  world = await createWorld({
    limits: { requests: 1e9, authRequests: 1e9 },
    // One person is an auditor, so that operations of the administration do more than reject their caller.
    change: (document) => ({ ...document, access: { auditors: { users: ['bo@example.test'] } } }),
  });
  const agent = await enrollAgent(
    { ...world.context, actor: { kind: 'operator', name: 'test' } },
    { name: 'fuzz', ttl: 'P1D' },
  );
  tokens = {
    requester: await world.token('requester'),
    approver: await world.token('approver'),
    bystander: await world.token('bystander'),
    agent: agent.credential,
  };
  const now = world.context.clock();
  for (const purpose of ['state', 'signal', 'session', 'oauth'] as const) {
    words.state?.push(
      await seal(world.context.keyring, purpose, { execution: 'something' }, { now, lifetime: 3_600_000 }),
    );
  }
});
afterAll(() => world[Symbol.asyncDispose]());

async function credentialHeaders(credential: Credential, address: string): Promise<Record<string, string>> {
  if (credential === 'none') return {};
  if (credential === 'unknown') return { authorization: `Bearer ${'A'.repeat(tokens.requester.length)}` };
  if (credential === 'malformed') return { authorization: 'Basic Zm9vOmJhcg==' };
  // A sign-out ends its login, so it gets a spare one, and later requests keep theirs.
  const spare = address.startsWith('/auth/logout') && credential !== 'agent';
  const person = credential === 'cookie' || credential === 'agent' ? 'requester' : credential;
  const token = spare ? await world.token(person) : credential === 'cookie' ? tokens.requester : tokens[credential];
  return credential === 'cookie' ? { cookie: `belay=${token}` } : { authorization: `Bearer ${token}` };
}

/** Adds the identifiers and tokens of a response to the known words, for later requests. */
function remember(body: string): void {
  for (const [, field = '', value = ''] of body.matchAll(/"(\w+)":"([\w.-]{8,1500})"/g)) {
    const names = ['execution_id', 'run_id', 'id'].includes(field) ? ['id', 'execution_id', 'workflow_id'] : [field];
    for (const name of names) {
      const kept = words[name];
      if (kept !== undefined && field in kinds && !kept.includes(value) && kept.length < 300) kept.push(value);
    }
  }
}
const kinds: Record<string, true> = {
  execution_id: true,
  run_id: true,
  id: true,
  request_digest: true,
  state: true,
  input: true,
};

async function ask({ method, address, credential, headers, body }: FuzzRequest): Promise<Answer> {
  const answer = await send(`${world.url}/api/v1${address}`, {
    method,
    headers: {
      ...headers,
      ...(await credentialHeaders(credential, address)),
      ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    },
    ...(body === undefined ? {} : { body }),
  });
  remember(answer.body);
  return answer;
}

/** Returns how a response differs from what the document allows. */
function wrongs({ operation, method, address, headers: sent }: FuzzRequest, answer: Answer): string[] {
  const { status, headers, body } = answer;
  // 501 is for features that are not configured (docs/interface.md, section 16, rule 6); the check against the document
  // below covers it.
  if (status >= 500 && status !== 501) return [`answers ${status}: ${body.slice(0, 300)}`];
  const found: string[] = [];
  if (/\bat .+\.(?:ts|js):\d+|node_modules|PostgresError|SELECT .+ FROM/i.test(body) && status >= 400) {
    found.push(`tells of the inside: ${body.slice(0, 300)}`);
  }
  const type = String(headers['content-type'] ?? '').split(';')[0] ?? '';
  if (status >= 400 && method !== 'HEAD' && type === 'application/json') {
    found.push(
      ...validator({ $ref: '#/components/schemas/Error' })(JSON.parse(body)).map((each) => `error body ${each}`),
    );
    const { code } = JSON.parse(body) as { code: string };
    const expected = publishedCodes[status as keyof typeof publishedCodes];
    if (code !== expected) found.push(`${status} has the code ${code}`);
  }
  const declared = document.paths?.[operation.path] as Record<string, unknown> | undefined;
  const path = address.split('?')[0] ?? '';
  // With an empty parameter, or one that contains a slash, the address is not that of the operation.
  const elsewhere = operation.path.includes('{') && !matches(operation.path, path);
  if (elsewhere) return found;
  if (method === 'OPTIONS' && status === 204) return found;
  if (status === 405) {
    if (headers.allow === undefined) found.push('405 without Allow');
    if (declared?.[method.toLowerCase()] !== undefined) found.push(`405 for ${method}, which is declared`);
    return found;
  }
  if (method !== operation.method && !(method === 'HEAD' && operation.method === 'GET')) return found;
  const allowed = operation.answers[String(status)];
  if (allowed === undefined) return [...found, `answers ${status}, which is not declared: ${body.slice(0, 200)}`];
  if (status >= 300 || method === 'HEAD') return found;
  // Pages are for browsers, and the document does not describe them.
  if (type === 'text/html')
    return /text\/html|\*\/\*|^$/.test(sent.accept ?? '') ? found : [...found, 'a page for a program'];
  const content = allowed.content?.[type];
  if (content === undefined) return [...found, `answers ${type}, which is not declared`];
  if (type === 'application/json' && content.schema !== undefined) {
    found.push(...validator(content.schema)(JSON.parse(body)).map((each) => `body ${each}`));
  }
  return found;
}

const matches = (template: string, path: string): boolean =>
  new RegExp(`^${template.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`).test(path);

describe('any input of a client', () => {
  it(`is answered as the document allows, and never with a 5xx (${requests} requests, seed ${seed})`, async () => {
    const operations = readOperations(document);
    const seen = new Set<string>();
    const succeeded = new Set<string>();
    let sent = 0;
    await fc.assert(
      fc.asyncProperty(
        arbitraryRequest(operations, components, {
          known: () => Object.values(words).flat(),
          fitting: (name) => words[name] ?? [],
        }),
        async (request) => {
          sent += 1;
          if (sent % 200 === 0) await world.drive();
          const answer = await ask(request);
          const name = `${request.operation.method} ${request.operation.path}`;
          seen.add(name);
          if (answer.status < 400 && request.method === request.operation.method) succeeded.add(name);
          expect(wrongs(request, answer)).toEqual([]);
        },
      ),
      { numRuns: requests, seed },
    );
    // Every operation was called, and half of them succeeded; otherwise the test would prove nothing.
    expect(seen.size).toBe(operations.length);
    expect(succeeded.size).toBeGreaterThanOrEqual(Math.floor(operations.length / 2));
    expect((await ask({ ...healthy(operations), credential: 'requester' })).status).toBe(200);
  }, 1_800_000);
});

function healthy(operations: ReturnType<typeof readOperations>): FuzzRequest {
  const operation = operations.find(({ path }) => path === '/auth/whoami');
  if (operation === undefined) throw new Error('There is no whoami');
  return { operation, method: 'GET', address: '/auth/whoami', credential: 'requester', headers: {}, body: undefined };
}
