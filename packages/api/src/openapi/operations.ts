import type { exampleOf } from '@belay/contract/examples';
import { type DeclaredOperation, listOperations } from '@belay/rest';
import type { AnyTRPCRouter } from '@trpc/server';
import type { OpenAPIObject } from 'trpc-to-openapi';

export type OpenApiDocument = OpenAPIObject;
export type Paths = NonNullable<OpenAPIObject['paths']>;
export type Operation = NonNullable<Paths[string]['get']>;
export type Responses = NonNullable<Operation['responses']>;

/** An operation of the router with its place in the document and the shape of its output. */
export interface Described extends DeclaredOperation {
  operation: Operation;
  returns: Parameters<typeof exampleOf>[0];
}

/** Returns every operation of a router that the document has. */
export function describedOperations(router: AnyTRPCRouter, document: OpenApiDocument): Described[] {
  const procedures = router._def.procedures as unknown as Record<string, { _def: { output?: Described['returns'] } }>;
  return listOperations(router).flatMap((declared): Described[] => {
    const operation = document.paths?.[declared.path]?.[declared.method.toLowerCase() as 'get' | 'post' | 'put'];
    const returns = procedures[declared.procedure]?._def.output;
    return operation === undefined || returns === undefined ? [] : [{ ...declared, operation, returns }];
  });
}

export const form = 'application/x-www-form-urlencoded';
export const json = 'application/json';
export const cloudEvents = 'application/cloudevents+json';
