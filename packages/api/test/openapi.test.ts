import { publishedCodes } from '@belay/contract/errors';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { serverRouter } from '../src/index.js';
import { describeApi } from '../src/openapi.js';

const options = { baseUrl: 'https://belay.example.com', basePath: '/api/v1', version: '0.1.0' };
const document = describeApi(serverRouter, options);
const text = JSON.stringify(document);

interface Media {
  schema?: object;
  example?: unknown;
}
interface Written {
  servers?: unknown[];
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: unknown[];
  parameters?: { name: string; in: string; required?: boolean; schema?: object; example?: unknown }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { description: string; content?: Record<string, Media> }>;
}
const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
  Object.entries(item as Record<string, Written>).map(([method, operation]) => ({
    where: `${method.toUpperCase()} ${path}`,
    operation,
  })),
);

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema({ $id: 'api', components: document.components });
const compiled = new Map<string, ReturnType<typeof ajv.compile>>();
function wrongs(schema: object | undefined, given: unknown): unknown[] {
  const referred = JSON.stringify(schema ?? {}).replaceAll('"#/components', '"api#/components');
  const validate = compiled.get(referred) ?? ajv.compile(JSON.parse(referred) as object);
  compiled.set(referred, validate);
  return validate(given) ? [] : (validate.errors ?? []);
}

describe('the OpenAPI document', () => {
  it('passes the recommended rules of a linter that is not ours', async () => {
    const config = await createConfig({ extends: ['recommended'] });
    const problems = await lintFromString({ source: text, absoluteRef: 'openapi.json', config });
    const errors = problems.filter(({ severity }) => severity === 'error');
    expect(errors).toEqual([]);
    expect(
      problems
        .map(({ ruleId }) => ruleId)
        .filter((rule) => rule !== 'operation-2xx-response' && rule !== 'no-server-example.com'),
    ).toEqual([]);
  });

  it('is valid OpenAPI 3.1 by the published schema', async () => {
    const validator = new Validator();
    const result = await validator.validate(JSON.parse(text) as Parameters<Validator['validate']>[0]);
    expect([result.errors ?? [], result.valid, validator.version]).toEqual([[], true, '3.1']);
  });

  it('offers no page: HTML is for browsers, by negotiation', () => {
    const types = operations.flatMap(({ operation }) =>
      [operation.requestBody, ...Object.values(operation.responses)].flatMap((each) =>
        Object.keys(each?.content ?? {}),
      ),
    );
    expect([...new Set(types)].sort()).toEqual([
      'application/cloudevents+json',
      'application/json',
      'application/samlmetadata+xml',
      'application/x-ndjson',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'text/csv',
      'text/event-stream',
      'text/plain',
    ]);
  });

  it('names its shapes, and refers to no shape from within itself', () => {
    const schemas = (document.components?.schemas ?? {}) as Record<string, object>;
    const names = Object.keys(schemas);
    expect(names).toEqual(
      expect.arrayContaining([
        'AccessGrant',
        'Error',
        'Execution',
        'ExecutionDetails',
        'ExecutionEvent',
        'InboxEntry',
        'Role',
      ]),
    );
    expect(names.filter((name) => !/^[A-Z]\w+$/.test(name))).toEqual([]);
    const within = (name: string, seen: readonly string[]): string[] =>
      [...JSON.stringify(schemas[name]).matchAll(/"#\/components\/schemas\/(\w+)"/g)].flatMap(([, next = '']) =>
        seen.includes(next) ? [next] : within(next, [...seen, next]),
      );
    expect(names.flatMap((name) => within(name, [name]))).toEqual([]);
    // An object in the body of an operation has a name, so that generated clients have a type to import.
    const unnamed = operations.flatMap(({ where, operation }) =>
      [operation.requestBody, ...Object.values(operation.responses)].flatMap((each) =>
        Object.values(each?.content ?? {}).flatMap(({ schema = {} }) => ('properties' in schema ? [where] : [])),
      ),
    );
    expect(unnamed.filter((where) => where !== 'POST /events/{source}')).toEqual([]);
  });

  it('identifies and describes every operation', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(operations.length);
    const declared = new Set(document.tags?.map(({ name }) => name));
    for (const { where, operation } of operations) {
      expect(operation.description.startsWith(operation.summary), where).toBe(true);
      expect(
        operation.tags.filter((tag) => !declared.has(tag)),
        where,
      ).toEqual([]);
      expect(Array.isArray(operation.security), where).toBe(true);
    }
    expect(Object.keys(document.components?.securitySchemes ?? {})).toEqual(['bearer', 'cookie']);
  });

  it('has an example of the request and of every JSON response of each operation, which its schema allows', () => {
    const wrong: unknown[] = [];
    const check = (where: string, { schema, example }: Media) => {
      if (example === undefined) wrong.push(`${where}: no example`);
      else wrong.push(...wrongs(schema, example).map((error) => [where, error]));
    };
    for (const { where, operation } of operations) {
      for (const parameter of operation.parameters ?? []) {
        if ((parameter.required === true && parameter.schema !== undefined) || parameter.example !== undefined)
          check(`${where} ?${parameter.name}`, parameter);
      }
      for (const [type, media] of Object.entries(operation.requestBody?.content ?? {}))
        check(`${where} ${type}`, media);
      for (const [status, { content = {} }] of Object.entries(operation.responses)) {
        if (content['application/json'] !== undefined) check(`${where} ${status}`, content['application/json']);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('gives every error its one code from the closed set', () => {
    const codes = new Map(Object.entries(publishedCodes));
    const schema = document.components?.schemas?.Error as { properties: { code: { enum: string[] } } };
    expect(schema.properties.code.enum).toEqual([...codes.values()]);
    for (const { where, operation } of operations) {
      // Errors of the stream have the shape of tRPC, because it is at the address of tRPC.
      if (operation.servers !== undefined) continue;
      const errors = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400);
      expect(errors.length, where).toBeGreaterThan(0);
      for (const [status, { content = {} }] of errors) {
        const { example } = content['application/json'] ?? {};
        if (status === '503' && /\/(health|ready)$/.test(where)) continue;
        expect([where, status, example]).toMatchObject([where, status, { code: codes.get(status) }]);
      }
    }
  });

  it('describes streams as what they are', () => {
    const media = (path: string, type: string) =>
      (document.paths?.[path]?.get as Written | undefined)?.responses['200']?.content?.[type]?.schema;
    const lines = { type: 'string', contentMediaType: 'application/json' };
    const of = (shape: string) => ({ ...lines, contentSchema: { $ref: `#/components/schemas/${shape}` } });
    expect(media('/trpc/executions.watch', 'text/event-stream')).toMatchObject(of('ExecutionEvent'));
    expect(media('/logs/export', 'application/x-ndjson')).toMatchObject(of('LogEntry'));
    expect(media('/admin/logs/export', 'application/x-ndjson')).toMatchObject(of('AuditEntry'));
  });

  it('closes what clients send and leaves what the server sends open for later versions', () => {
    const schemas = document.components?.schemas as Record<string, { additionalProperties?: unknown }>;
    expect(schemas.ExecutionStart?.additionalProperties).toBe(false);
    expect(schemas.Decision?.additionalProperties).toBe(false);
    expect(schemas.Execution).not.toHaveProperty('additionalProperties');
    expect(schemas.Error).not.toHaveProperty('additionalProperties');
  });
});
