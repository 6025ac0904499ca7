import { publishedCodes } from '@belay/contract/errors';
import { exampleOf } from '@belay/contract/examples';
import type { RestMeta } from '@belay/rest';
import { cloudEvents, type Described, json, type Operation, type Responses } from './operations.js';

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

/** Completes the responses of an operation in the document: representations, redirects, errors and examples. */
export function describeResponses(described: Described): void {
  const { operation, method, rest, returns } = described;
  const kept = Object.entries((operation.responses ?? {}) as Responses).filter(([status]) => status.startsWith('2'));
  // An external event is accepted with 202 and processed later.
  const accepted = rest.rawBody?.types.includes(cloudEvents) === true;
  operation.responses = Object.fromEntries(
    accepted ? kept.map(([, response]) => ['202', response]) : kept,
  ) as Responses;
  const success = operation.responses[accepted ? '202' : '200'];
  if (success !== undefined && 'content' in success && success.content?.[json] !== undefined) {
    success.content[json].example = exampleOf(returns, 'output');
  }
  redirects(operation, method, rest);
  representations(described);
  for (const status of statusesOf(described).sort()) operation.responses[String(status)] ??= errorResponse(status);
}

function statusesOf({ method, path, rest }: Described): number[] {
  const statuses = [400, 406, 429, 500, 503];
  if (rest.public !== true) statuses.push(401, 403);
  if (path.includes('{')) statuses.push(404);
  // 403: the request of a browser from another origin, even where no sign-in is required.
  if (method === 'POST' || method === 'PUT') statuses.push(403, 413, 415);
  if (/^\/(elevate|elevations|execution|runs|admin\/|approvals|access\/|auth\/device|auth\/program)/.test(path))
    statuses.push(404, 409);
  if (/^\/(auth|provider)\b/.test(path)) statuses.push(501);
  if (path.startsWith('/auth/callback') || rest.confirm !== undefined) statuses.push(403);
  if (rest.rawBody !== undefined) statuses.push(401);
  if (rest.rawBody?.types.includes(cloudEvents) === true) statuses.push(409);
  return [...new Set(statuses)];
}

function errorResponse(status: number) {
  const code = publishedCodes[status as keyof typeof publishedCodes];
  const message = descriptions[status] ?? 'Error';
  const issues = status === 400 ? { issues: [{ path: 'duration', message: 'is longer than the role allows' }] } : {};
  return {
    description: `\`${code}\`: ${message}`,
    ...([429, 503].includes(status)
      ? { headers: { 'Retry-After': { description: 'Seconds', schema: { type: 'integer' as const } } } }
      : {}),
    content: {
      [json]: {
        schema: { $ref: '#/components/schemas/Error' },
        example: { message: message.split(';')[0] ?? message, code, ...issues },
      },
    },
  };
}

export const redirectTo = (description: string) => ({
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

/** Adds the representations besides JSON. Pages for browsers are left out, because no client can be generated for them. */
function representations({ operation, path, rest, procedure }: Described): void {
  const success = operation.responses?.['200'];
  if (success === undefined || !('content' in success) || success.content === undefined) return;
  if (rest.document !== undefined) success.content[rest.document.type] = { schema: { type: 'string' } };
  if (rest.stream !== undefined) {
    const item = procedure.startsWith('admin.') ? 'AuditEntry' : 'LogEntry';
    success.content['application/x-ndjson'] = {
      schema: {
        type: 'string',
        description: `All entries, newest first, one JSON object per line: each is of \`${item}\``,
        contentMediaType: json,
        contentSchema: { $ref: `#/components/schemas/${item}` },
      },
    };
  }
  if (rest.csv !== undefined) {
    success.content['text/csv'] = { schema: { type: 'string', description: `Columns: ${rest.csv.join(', ')}` } };
  }
  if (rest.metrics !== undefined) {
    success.content['text/plain'] = { schema: { type: 'string', description: 'The text format of Prometheus' } };
  }
  if (path === '/health' || path === '/ready') {
    // The shape is the same when the service is unhealthy: probes read the status, people read the body.
    operation.responses = { ...operation.responses, '503': { ...success, description: 'Cannot serve requests' } };
  }
}
