import { exampleOf } from '@belay/contract/examples';
import { executionOperations } from '@belay/contract/executions';
import type { OpenApiDocument, Paths } from './operations.js';

/**
 * Returns the path of the one event stream of the interface, which trpc-to-openapi leaves out. It is at the address of tRPC, not
 * under the prefix of the other paths.
 */
export function describeStream(baseUrl: string): Paths {
  const { watch } = executionOperations;
  const event = exampleOf(watch.output, 'output');
  const security: NonNullable<OpenApiDocument['security']> = [{ bearer: [] }, { cookie: [] }];
  return {
    '/trpc/executions.watch': {
      get: {
        operationId: 'executions-watch',
        tags: ['executions'],
        servers: [{ url: baseUrl }],
        security,
        summary: 'Follow an execution as server-sent events',
        description:
          'Follow an execution as server-sent events. Every event from the start, or after `Last-Event-ID`, then each new one as it ' +
          'happens; the stream ends with an event `return` when no more can follow. An event `serialized-error` has the error.',
        parameters: [
          {
            in: 'query',
            name: 'input',
            required: true,
            description: 'JSON: `id` of the execution and, to resume, `lastEventId`',
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  required: ['id'],
                  properties: { id: { type: 'string' }, lastEventId: { type: 'string' } },
                },
                example: exampleOf(watch.input, 'input'),
              },
            },
          },
        ],
        responses: {
          200: {
            description: 'The events; `id` of each is its `seq`',
            content: {
              'text/event-stream': {
                schema: {
                  type: 'string',
                  description: 'The `data` of an event without a name is JSON',
                  contentMediaType: 'application/json',
                  contentSchema: { $ref: '#/components/schemas/ExecutionEvent' },
                },
                example: `data: ${JSON.stringify(event)}\nid: 12\n\n`,
              },
            },
          },
          401: { description: '`UNAUTHORIZED`: the credential is missing, unknown or expired' },
        },
      },
    },
  };
}
