import { exampleOf } from '@belay/contract/examples';
import { limits } from '@belay/contract/limits';
import { descriptionOf } from '@belay/contract/schemas';
import { cloudEvents, type Described, json, type Operation } from './operations.js';

/** Completes the parameters and the body of an operation in the document, and adds an example of a request. */
export function describeRequest(described: Described): void {
  const { operation, method, path, input, rest } = described;
  const example = input === undefined ? {} : (exampleOf(input, 'input') as Record<string, unknown>);
  if (rest.textBody !== undefined) textBody(operation, rest.query ?? []);
  if (rest.rawBody !== undefined) rawBody(described, example[rest.rawBody.field]);
  for (const parameter of operation.parameters ?? []) {
    if (!('in' in parameter) || parameter.in === 'header') continue;
    const { name } = parameter;
    const description = descriptionOf(input, name);
    if (description !== undefined) parameter.description = description;
    if (name in example) parameter.example = example[name];
    // A list in a query is comma-separated; the key may be repeated as well.
    if (parameter.in === 'query' && isList(parameter.schema))
      Object.assign(parameter, { style: 'form', explode: false });
  }
  if (rest.textBody === undefined && rest.rawBody === undefined) bodyExample(operation, path, example);
  const creates =
    (method === 'POST' && ['/elevate', '/elevations', '/execution'].includes(path)) || path.endsWith('/extend');
  if (creates || (method === 'GET' && path === '/elevate')) idempotency(operation);
}

const isList = (schema: unknown) =>
  typeof schema === 'object' && schema !== null && 'type' in schema && schema.type === 'array';

function bodyExample(operation: Operation, path: string, example: Record<string, unknown>): void {
  const body = operation.requestBody;
  if (body === undefined || !('content' in body)) return;
  const fields = Object.fromEntries(Object.entries(example).filter(([name]) => !path.includes(`{${name}}`)));
  for (const media of Object.values(body.content)) if (media !== undefined) media.example = fields;
}

function textBody(operation: Operation, names: readonly string[]): void {
  operation.requestBody = {
    required: false,
    description: 'The sealed token; not needed when it is in the query',
    content: { 'text/plain': { schema: { type: 'string' }, example: 'v1.sealed.Zm9yIHRoaXMgcGVyc29uIG9ubHk' } },
  };
  operation.parameters = names.map((name) => ({ in: 'query', name, schema: { type: 'string' } }));
}

function rawBody({ operation, rest }: Described, example: unknown): void {
  const types = rest.rawBody?.types ?? [];
  const signed = { schema: { type: 'string' as const, description: 'Exactly what was signed' }, example };
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
    example: types.includes(cloudEvents) ? (JSON.parse(String(example)) as unknown) : undefined,
  };
  const media = types.includes(cloudEvents) ? cloudEvent : signed;
  // As JSON the signed text is an object whose fields the provider defines.
  const own = { schema: { description: 'Exactly what was signed' }, example: { type: 'block_actions' } };
  operation.requestBody = {
    required: true,
    content: Object.fromEntries(types.map((type) => [type, media === signed && type === json ? own : media])),
  };
}

function idempotency(operation: Operation): void {
  operation.parameters = [
    ...(operation.parameters ?? []),
    {
      in: 'header',
      name: 'Idempotency-Key',
      description: 'The same key with the same request returns the same execution for 24 hours',
      schema: { type: 'string', maxLength: limits.idempotencyKey },
      example: 'ticket-4711',
    },
  ];
}
