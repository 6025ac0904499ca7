import { namedSchemas } from '@belay/contract/schemas';
import type { Described, OpenApiDocument } from './operations.js';

type Schemas = Record<string, unknown>;
const names = new Map([...namedSchemas].map(([name, schema]) => [schema, name]));

/**
 * Gives the body and the output of every operation a name in the document, so that generated clients have types to import: the name
 * in the contract, or one that is made from the name of the operation.
 */
export function nameShapes(described: readonly Described[], schemas: Schemas): void {
  for (const { operation, procedure, input } of described) {
    const base = procedure.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase());
    const contract = input === undefined ? undefined : names.get(input);
    const body = operation.requestBody;
    if (body !== undefined && 'content' in body) hoist(body.content, [contract, `${base}Request`], schemas);
    for (const [status, response] of Object.entries(operation.responses ?? {})) {
      const { content } = response as { content?: Record<string, { schema?: unknown }> };
      if (status.startsWith('2') && content !== undefined) hoist(content, [`${base}Response`], schemas);
    }
  }
}

function hoist(
  content: Record<string, { schema?: unknown } | undefined>,
  wanted: readonly (string | undefined)[],
  schemas: Schemas,
): void {
  for (const media of Object.values(content)) {
    const { schema } = media ?? {};
    if (
      media === undefined ||
      typeof schema !== 'object' ||
      schema === null ||
      !('properties' in schema || 'anyOf' in schema || 'oneOf' in schema)
    )
      continue;
    const text = JSON.stringify(schema);
    const name = wanted.find(
      (each) => each !== undefined && (!(each in schemas) || JSON.stringify(schemas[each]) === text),
    );
    if (name === undefined) continue;
    schemas[name] = schema;
    media.schema = { $ref: `#/components/schemas/${name}` };
  }
}

/**
 * Allows further fields in shapes that only the server sends, so that a later version can add some: clients ignore unknown fields
 * (docs/interface.md). Shapes that clients send allow no further fields.
 */
export function openResponses(document: OpenApiDocument): void {
  const schemas = (document.components?.schemas ?? {}) as Schemas;
  const operations = Object.values(document.paths ?? {}).flatMap(
    (item) => Object.values(item) as { parameters?: unknown; requestBody?: unknown; responses?: unknown }[],
  );
  const sent = reachable(
    operations.map(({ parameters, requestBody }) => [parameters, requestBody]),
    schemas,
  );
  for (const [name, schema] of Object.entries(schemas)) if (!sent.has(name)) open(schema);
  for (const { responses } of operations) open(responses);
}

function reachable(from: unknown, schemas: Schemas, found = new Set<string>()): Set<string> {
  for (const [, name = ''] of JSON.stringify(from).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (found.has(name)) continue;
    found.add(name);
    reachable(schemas[name] ?? {}, schemas, found);
  }
  return found;
}

function open(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  const node = schema as { additionalProperties?: unknown; properties?: unknown };
  if (node.additionalProperties === false && node.properties !== undefined) delete node.additionalProperties;
  for (const inner of Object.values(schema)) open(inner);
}
