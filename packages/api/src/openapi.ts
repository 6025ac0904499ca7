import { limits } from '@belay/contract/limits';
import { type DeclaredOperation, listOperations, type RestMeta } from '@belay/rest';
import type { AnyTRPCRouter } from '@trpc/server';
import { generateOpenApiDocument, type OpenAPIObject } from 'trpc-to-openapi';

export type OpenApiDocument = OpenAPIObject;
type Paths = NonNullable<OpenAPIObject['paths']>;
type Operation = NonNullable<Paths[string]['get']>;
type Responses = NonNullable<Operation['responses']>;

const descriptions: Readonly<Record<number, string>> = {
  400: 'The request is not valid; `issues` names each field and its error',
  401: 'The credential is missing, unknown or expired',
  403: 'You are not allowed to do this',
  404: 'Not found, or not visible to you',
  406: 'None of the media types in Accept is available',
  409: 'Conflicts with the current state: already decided, ended or held, or the idempotency key was used for another request',
  413: 'The body is too large',
  415: 'The media type of the body is not supported by this operation',
  429: 'Too many requests; Retry-After gives the seconds to wait',
  500: 'Internal error',
  501: 'Not configured on this server',
  503: 'Temporarily unavailable; Retry-After gives the seconds to wait',
};

const tags: readonly { name: string; description: string }[] = [
  { name: 'providers', description: 'Systems where access is granted, and their identities, roles and permissions' },
  { name: 'authentication', description: 'Sign-in, sign-out and the current user' },
  { name: 'elevation', description: 'Requests for elevated access' },
  { name: 'executions', description: 'State and history of requests' },
  { name: 'approvals', description: 'Decisions on the requests of other people' },
  { name: 'access', description: 'Access that you hold now' },
  { name: 'runs', description: 'Access for as long as a command runs' },
  { name: 'administration', description: 'What administrators and auditors see and do' },
  { name: 'configuration', description: 'Name, version and configuration of this service' },
  { name: 'sessions', description: 'Your sessions with providers' },
  { name: 'notifications', description: 'What you are told outside of Belay' },
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
  const document = generateOpenApiDocument(router, {
    title: 'Belay',
    description: 'Just-in-time elevated access: requested, approved, granted for a limited time, and always revoked.',
    version: options.version,
    openApiVersion: '3.1.0',
    baseUrl: `${options.baseUrl.replace(/\/$/, '')}${options.basePath}`,
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
  const operations = listOperations(router);
  const confirmed = new Set(operations.filter(({ rest }) => rest.confirm !== undefined).map(({ path }) => path));
  for (const operation of operations) {
    const found = document.paths?.[operation.path]?.[operation.method.toLowerCase() as 'get' | 'post'];
    if (found === undefined) continue;
    correct(found, operation);
    if (operation.method === 'POST' && confirmed.has(operation.path)) {
      found.responses = {
        ...found.responses,
        303: redirectTo('Redirects a browser to the next page after it confirms'),
      };
    }
  }
  document.components = {
    ...document.components,
    schemas: { ...keepOwn(document.components?.schemas), Error: errorSchema },
  };
  return document;
}

/** Keeps our schemas: trpc-to-openapi writes one error schema per status, and we use one for all. */
function keepOwn(schemas: NonNullable<OpenAPIObject['components']>['schemas'] = {}): typeof schemas {
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => !name.startsWith('error.')));
}

const errorSchema = {
  type: 'object' as const,
  description: 'The body of every error',
  required: ['message', 'code'],
  properties: {
    message: { type: 'string' as const, description: 'Explains the error to people' },
    code: { type: 'string' as const, description: 'Identifies the error to programs', examples: ['BAD_REQUEST'] },
    issues: {
      type: 'array' as const,
      items: {
        type: 'object' as const,
        required: ['path', 'message'],
        properties: {
          path: {
            type: 'string' as const,
            description: 'The field, for example `input.providers[0]`; empty for the whole input',
          },
          message: { type: 'string' as const },
        },
      },
    },
  },
};

const errorResponse = (status: number) => ({
  description: descriptions[status] ?? 'Error',
  ...([429, 503].includes(status)
    ? { headers: { 'Retry-After': { description: 'Seconds', schema: { type: 'integer' as const } } } }
    : {}),
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
});

function correct(operation: Operation, { method, path, rest }: DeclaredOperation): void {
  operation.security = rest.public === true ? [] : [{ bearer: [] }, { cookie: [] }];
  const kept = Object.entries((operation.responses ?? {}) as Responses).filter(([status]) => status.startsWith('2'));
  const statuses = [400, 406, 429, 500, 503];
  if (rest.public !== true) statuses.push(401, 403);
  if (path.includes('{')) statuses.push(404);
  // 403: the request of a browser from another origin, even where no sign-in is required.
  if (method === 'POST' || method === 'PUT') statuses.push(403, 413, 415);
  if (/^\/(elevate|elevations|execution|runs|admin\/|approvals|access\/|auth\/device|auth\/program)/.test(path))
    statuses.push(404, 409);
  if (/^\/(auth|provider)\b/.test(path)) statuses.push(501);
  if (path.startsWith('/auth/callback') || rest.confirm !== undefined) statuses.push(403);
  operation.responses = Object.fromEntries(kept) as Responses;
  if (rest.rawBody !== undefined) {
    statuses.push(401);
    if (rest.rawBody.types.includes(cloudEvents)) {
      // An external event is accepted with 202 and processed later.
      operation.responses = Object.fromEntries(kept.map(([, response]) => ['202', response])) as Responses;
      statuses.push(409);
    }
  }
  redirects(operation, method, rest);
  representations(operation, path, rest);
  for (const status of [...new Set(statuses)].sort()) operation.responses[String(status)] ??= errorResponse(status);
  parameters(operation, method, path, rest);
}

const redirectTo = (description: string) => ({
  description,
  headers: {
    Location: { description: 'The address of the next step', required: true, schema: { type: 'string' as const } },
  },
});

function redirects(operation: Operation, method: string, rest: RestMeta): void {
  operation.responses ??= {};
  const { responses } = operation;
  const isPage = rest.html !== undefined || rest.confirm !== undefined || rest.redirect !== undefined;
  if (method === 'GET' && isPage && rest.public !== true) {
    responses['302'] = redirectTo('Redirects a browser that is not signed in to the sign-in');
  }
  if (rest.confirm !== undefined)
    responses['303'] = redirectTo('Redirects a browser to the page that shows the result');
  if (rest.redirect === undefined) return;
  responses[String(rest.redirect.status)] = redirectTo('The address to continue at');
  if (rest.redirect.always) delete responses['200'];
}

function representations(operation: Operation, path: string, rest: RestMeta): void {
  const success = operation.responses?.['200'];
  if (success === undefined || !('content' in success) || success.content === undefined) return;
  if (rest.html !== undefined || rest.confirm !== undefined)
    success.content['text/html'] = { schema: { type: 'string' } };
  if (rest.document !== undefined) success.content[rest.document.type] = { schema: { type: 'string' } };
  if (rest.stream !== undefined) {
    success.content['application/x-ndjson'] = {
      schema: { type: 'string', description: 'All entries, one per line' },
    };
  }
  if (rest.csv !== undefined) success.content['text/csv'] = { schema: { type: 'string' } };
  if (rest.metrics !== undefined) success.content['text/plain'] = { schema: { type: 'string' } };
  if (path === '/health' || path === '/ready') {
    // The shape is the same when the service is unhealthy: probes read the status, people read the body.
    operation.responses = { ...operation.responses, '503': { ...success, description: 'Cannot serve requests' } };
  }
}

const cloudEvents = 'application/cloudevents+json';

function parameters(operation: Operation, method: string, path: string, rest: RestMeta): void {
  for (const parameter of operation.parameters ?? []) {
    if (!('in' in parameter) || parameter.in !== 'query') continue;
    const { schema } = parameter;
    // A list in a query is comma-separated; the key may be repeated as well.
    if (schema !== undefined && 'type' in schema && schema.type === 'array') {
      parameter.style = 'form';
      parameter.explode = false;
    }
  }
  if (rest.rawBody !== undefined) {
    const signed = { schema: { type: 'string' as const, description: 'Exactly what was signed' } };
    const cloudEvent = {
      schema: {
        type: 'object' as const,
        required: ['specversion', 'id', 'source', 'type', 'subject'],
        properties: {
          specversion: { type: 'string' as const, enum: ['1.0'] },
          id: {
            type: 'string' as const,
            description: 'Unique per source: an event with an id already received from this source is ignored',
          },
          source: { type: 'string' as const, description: 'Replaced by the name of the source' },
          type: { type: 'string' as const },
          subject: { type: 'string' as const, description: 'The id of the execution' },
          data: {},
        },
        description: 'A CloudEvent 1.0',
      },
    };
    operation.requestBody = {
      required: true,
      content: Object.fromEntries(
        rest.rawBody.types.map((type) => [type, rest.rawBody?.types.includes(cloudEvents) ? cloudEvent : signed]),
      ),
    };
  }
  if (rest.textBody !== undefined) {
    operation.requestBody = {
      required: false,
      description: 'The sealed token; not needed when it is in the query',
      content: { 'text/plain': { schema: { type: 'string' } } },
    };
    const names = rest.query ?? [];
    operation.parameters = names.map((name) => ({ in: 'query', name, schema: { type: 'string' } }));
  }
  if (method === 'POST' && ['/elevate', '/elevations', '/execution'].includes(path)) idempotency(operation);
  if (method === 'GET' && path === '/elevate') idempotency(operation);
}

function idempotency(operation: Operation): void {
  operation.parameters = [
    ...(operation.parameters ?? []),
    {
      in: 'header',
      name: 'Idempotency-Key',
      description: 'The same key with the same request returns the same execution for 24 hours',
      schema: { type: 'string', maxLength: limits.idempotencyKey },
    },
  ];
}
