import { namedSchemas, nameSchemas } from '@belay/contract/schemas';
import type { AnyTRPCRouter } from '@trpc/server';
import { generateOpenApiDocument } from 'trpc-to-openapi';
import { describeRequest } from './openapi/describe-requests.js';
import { describeResponses, redirectTo } from './openapi/describe-responses.js';
import { describeStream } from './openapi/describe-stream.js';
import { nameShapes, openResponses } from './openapi/name-shapes.js';
import { type Described, describedOperations, form, type OpenApiDocument } from './openapi/operations.js';

export type { OpenApiDocument } from './openapi/operations.js';

const tags: readonly { name: string; description: string }[] = [
  { name: 'providers', description: 'Systems where access is granted, and their identities, roles and permissions' },
  { name: 'authentication', description: 'Sign-in, sign-out and the current user' },
  { name: 'elevation', description: 'Requests for elevated access' },
  { name: 'executions', description: 'State and history of requests' },
  { name: 'approvals', description: 'Decisions on the requests of other people' },
  { name: 'access', description: 'Access that you hold now' },
  { name: 'reviews', description: 'Reviews that follow the use of roles for emergencies' },
  { name: 'runs', description: 'Access for as long as a command runs' },
  { name: 'administration', description: 'What administrators and auditors see and do' },
  { name: 'configuration', description: 'Name, version and configuration of this service' },
  { name: 'sessions', description: 'Your sessions with providers' },
  { name: 'notifications', description: 'Your notifications outside of Belay' },
  { name: 'roles', description: 'Roles that can be requested' },
  { name: 'workflows', description: 'Workflows that decide requests' },
  { name: 'system', description: 'Health, readiness and metrics' },
  { name: 'logs', description: 'The audit log' },
];

/**
 * Returns the OpenAPI 3.1 document of a router: the output of trpc-to-openapi, with corrections for what it cannot
 * express. `baseUrl` is the address of the service, `basePath` the prefix of the paths.
 */
export function describeApi(
  router: AnyTRPCRouter,
  options: { baseUrl: string; basePath: string; version: string },
): OpenApiDocument {
  nameSchemas();
  const document = generateOpenApiDocument(router, {
    title: 'Belay',
    description: 'Just-in-time elevated access: requested, approved, granted for a limited time, and always revoked.',
    version: options.version,
    openApiVersion: '3.1.0',
    baseUrl: `${options.baseUrl.replace(/\/$/, '')}${options.basePath}`,
    defs: Object.fromEntries([...namedSchemas].filter(([name]) => alwaysNamed.has(name))),
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'A token from `belay login` or `belay token create`' },
      cookie: {
        type: 'apiKey',
        in: 'cookie',
        name: options.baseUrl.startsWith('https:') ? '__Host-belay' : 'belay',
        description:
          'The login cookie of a browser. Requests that change something must come from the origin of this service.',
      },
    },
  });
  document.info.license = { name: 'Apache-2.0', identifier: 'Apache-2.0' };
  document.tags = tags.map((tag) => ({ ...tag }));
  const operations = describedOperations(router, document);
  for (const described of operations) {
    const { operation, rest } = described;
    operation.security = rest.public === true ? [] : [{ bearer: [] }, { cookie: [] }];
    describeRequest(described);
    describeResponses(described);
    operation.description = describe(described);
  }
  redirectConfirmed(operations);
  document.paths = { ...document.paths, ...describeStream(options.baseUrl.replace(/\/$/, '')) };
  const schemas = keepOwn(document.components?.schemas);
  nameShapes(operations, schemas);
  document.components = { ...document.components, schemas: sorted(schemas) };
  openResponses(document);
  return document;
}

/** Shapes that are always named: the body of errors, and the events and entries of streams. Only our own additions refer to them. */
const alwaysNamed = new Set(['Error', 'ExecutionEvent', 'AuditEntry', 'LogEntry']);

/** Keeps our schemas: trpc-to-openapi writes one error schema per status, and we use one for all. */
function keepOwn(schemas: object = {}): Record<string, never> {
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => !name.startsWith('error.'))) as never;
}

const sorted = <Value>(given: Record<string, Value>): Record<string, Value> =>
  Object.fromEntries(Object.entries(given).sort(([one], [other]) => (one < other ? -1 : 1)));

/** A page of Belay confirms a GET that changes something with a POST to the same path. */
function redirectConfirmed(operations: readonly Described[]): void {
  const confirmed = new Set(operations.filter(({ rest }) => rest.confirm !== undefined).map(({ path }) => path));
  for (const { operation, method, path } of operations) {
    if (method !== 'POST' || !confirmed.has(path)) continue;
    operation.responses = {
      ...operation.responses,
      303: redirectTo('Redirects a browser to the next page after it confirms'),
    };
  }
}

/** Returns the description of an operation: its summary, and what a reader needs to know besides. */
function describe({ operation, rest, contentTypes, input, method }: Described): string {
  const facts = [`${operation.summary ?? ''}.`];
  if (rest.public === true) facts.push('Needs no credential.');
  if (rest.confirm !== undefined) {
    facts.push(
      'Changes something, although it is a GET: a browser is asked to confirm first; programs send a bearer token.',
    );
  }
  if (rest.html === 'offered') facts.push('A browser (`Accept: text/html`) gets a page instead.');
  if (rest.html === 'preferred') facts.push('Without `Accept: application/json` the response is a page.');
  if (rest.redirect?.always === false)
    facts.push('Programs that accept `application/json` get it instead of the redirect.');
  if (rest.stream !== undefined) facts.push('`Accept: application/x-ndjson` returns all entries as lines of JSON.');
  if (method !== 'GET' && contentTypes.includes(form)) facts.push('Forms and JSON have the same fields.');
  if (input !== undefined && 'cursor' in input.shape)
    facts.push('`next` of the response is the `cursor` of the next page.');
  return facts.join(' ');
}
