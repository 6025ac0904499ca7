import { serverRouter } from '@belay/api';
import { describeApi } from '@belay/api/openapi';
import { type Context, timing } from '@belay/core';
import { delay } from '@belay/program';
import { createRouteTable, listOperations } from '@belay/rest';
import { type Served, send, serve } from '@belay/testkit/serve';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** An operation of the OpenAPI document. The tests compare all of them, and each status that needs no database, with the adapter. */
interface Documented {
  method: string;
  path: string;
  operation: {
    security?: unknown[];
    responses: Record<
      string,
      { headers?: Record<string, unknown>; content?: Record<string, { schema: { $ref?: string } }> }
    >;
    parameters?: { in: string; name: string; required?: boolean }[];
    requestBody?: { content: Record<string, unknown> };
  };
}

const document = describeApi(serverRouter, { baseUrl: 'http://127.0.0.1:8080', basePath: '/api/v1', version: '0.1.0' });
// The event stream is at an address outside of the prefix.
const documented: Documented[] = Object.entries(document.paths ?? {})
  .filter(([path]) => !path.startsWith('/trpc/'))
  .flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation: operation as Documented['operation'],
    })),
  );
const context = {
  newId: () => 'an-id-of-ours',
  program: { version: '0.1.0', revision: 'test', baseUrl: '' },
  timing,
  delay,
} as unknown as Context;
const table = createRouteTable(serverRouter);
const fill = (path: string) => path.replace(/\{\w+\}/g, 'something');

let served: Served;
beforeAll(async () => {
  served = await serve({ context, router: serverRouter, limits: { bodyBytes: 1000 } });
});
afterAll(() => served[Symbol.asyncDispose]());

describe('the published document', () => {
  it('is what is served', async () => {
    const answer = await send(`${served.url}/api/v1/openapi.json`);
    expect(answer.status).toBe(200);
    const published = JSON.parse(answer.body) as typeof document;
    expect(published.openapi).toBe('3.1.0');
    expect(published.servers).toEqual([{ url: `${served.url}/api/v1` }]);
    expect(Object.keys(published.paths ?? {})).toEqual(Object.keys(document.paths ?? {}));
  });

  it('has every operation of the router, and each is routed to its own procedure', () => {
    const declared = listOperations(serverRouter);
    expect(documented.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
      declared.map(({ method, path }) => `${method} ${path}`).sort(),
    );
    for (const { method, path, procedure } of declared) {
      const found = table.find(fill(path));
      if (found === undefined || 'malformed' in found) throw new Error(`${path} is not routed`);
      expect([method, path, found.route.methods.get(method)?.procedure]).toEqual([method, path, procedure]);
    }
  });

  it('says of every operation that needs a login that it answers 401, and it does', async () => {
    for (const { method, path, operation } of documented) {
      if (operation.security?.length === 0) continue;
      const answer = await send(`${served.url}/api/v1${fill(path)}`, { method });
      expect([method, path, answer.status, answer.headers['www-authenticate']]).toEqual([
        method,
        path,
        401,
        'Bearer realm="belay"',
      ]);
      expect(Object.keys(operation.responses)).toContain('401');
      expect(JSON.parse(answer.body)).toEqual({ message: 'Sign in first', code: 'UNAUTHORIZED' });
    }
  });

  it('leaves open only the system’s own endpoints and signing in', () => {
    const open = documented.filter(({ operation }) => operation.security?.length === 0).map(({ path }) => path);
    expect(open.sort()).toEqual([
      '/.well-known/api-configuration',
      '/auth',
      '/auth/backchannel-logout/{provider}',
      '/auth/callback/{provider}',
      '/auth/callback/{provider}',
      '/auth/device/authorization',
      '/auth/device/token',
      '/auth/logout',
      '/auth/logout/{provider}',
      '/auth/metadata/{provider}',
      '/auth/request/{provider}',
      '/auth/session',
      '/auth/token',
      '/events/{source}',
      '/health',
      '/hooks/{provider}',
      '/metrics',
      '/ready',
    ]);
  });

  it('names the methods of a path as the adapter does', async () => {
    for (const path of new Set(documented.map((each) => each.path))) {
      const methods = documented.filter((each) => each.path === path).map(({ method }) => method);
      const { headers } = await send(`${served.url}/api/v1${fill(path)}`, { method: 'OPTIONS' });
      expect(String(headers.allow).split(', ')).toEqual(expect.arrayContaining(methods));
      const refused = await send(`${served.url}/api/v1${fill(path)}`, { method: 'DELETE' });
      expect([path, refused.status]).toEqual([path, 405]);
    }
  });

  it('gives every error one body, and a redirect its Location', () => {
    for (const { method, path, operation } of documented) {
      for (const [status, response] of Object.entries(operation.responses)) {
        const where = `${method} ${path} ${status}`;
        if (status.startsWith('3')) expect([where, response.headers]).toMatchObject([where, { Location: {} }]);
        const probe = status === '503' && (path === '/health' || path === '/ready');
        if (Number(status) >= 400 && !probe) {
          expect([where, response.content?.['application/json']?.schema.$ref]).toEqual([
            where,
            '#/components/schemas/Error',
          ]);
        }
      }
    }
  });

  it('documents the resume as 307, or JSON on request', () => {
    for (const method of ['GET', 'POST']) {
      const found = documented.find((each) => each.path === '/elevate/resume' && each.method === method);
      expect(Object.keys(found?.operation.responses ?? {})).toEqual(expect.arrayContaining(['200', '307']));
    }
  });
});
