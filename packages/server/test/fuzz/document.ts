import type { OpenApiDocument } from '@belay/api';
import fc from 'fast-check';

/** The part of JSON Schema 2020-12 that the published document uses. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
}

export interface Answer {
  content?: Record<string, { schema?: Schema }>;
  headers?: Record<string, unknown>;
}

export interface Operation {
  method: string;
  path: string;
  public: boolean;
  parameters: { in: string; name: string; required: boolean; schema: Schema }[];
  bodies: { type: string; schema: Schema }[];
  answers: Record<string, Answer>;
}

interface Written {
  servers?: unknown[];
  security?: unknown[];
  parameters?: { in: string; name: string; required?: boolean; schema?: Schema }[];
  requestBody?: { content: Record<string, { schema?: Schema }> };
  responses: Record<string, Answer>;
}

/** Returns every operation of the published document that is under its prefix: all but the stream of tRPC. */
export function readOperations(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Written>)
      .filter(([, { servers }]) => servers === undefined)
      .map(([method, operation]) => ({
        // A counterexample shows only the name of its operation, and not its whole description.
        [fc.toStringMethod]: () => `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        public: operation.security?.length === 0,
        parameters: (operation.parameters ?? []).map(({ in: place, name, required = false, schema = {} }) => ({
          in: place,
          name,
          required,
          schema,
        })),
        bodies: Object.entries(operation.requestBody?.content ?? {}).map(([type, { schema = {} }]) => ({
          type,
          schema,
        })),
        answers: operation.responses,
      })),
  );
}
