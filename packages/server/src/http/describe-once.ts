import type { OpenApiDocument } from '@belay/api';
import { type Asset, referencePage, renderPage } from '@belay/console';
import type { AnyTRPCRouter } from '@trpc/server';
import { anonymous } from './render.js';

interface Described {
  /** The OpenAPI document. */
  document: Asset;
  /** Its page. */
  reference: Asset;
}

/**
 * Returns what describes the router's operations, made once, at the first call: a start does not wait for it. A call that fails
 * is not kept.
 */
export function describeOnce(
  router: AnyTRPCRouter,
  options: { baseUrl: string; basePath: string; version: string },
): () => Promise<Described> {
  let made: Promise<Described> | undefined;
  return () => {
    made ??= describe(router, options).catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

async function describe(
  router: AnyTRPCRouter,
  options: { baseUrl: string; basePath: string; version: string },
): Promise<Described> {
  const { describeApi } = await import('@belay/api/openapi');
  const described: OpenApiDocument = describeApi(router, options);
  const { basePath } = options;
  return {
    document: { type: 'application/json; charset=utf-8', body: JSON.stringify(described), version: '' },
    reference: {
      type: 'text/html; charset=utf-8',
      body: renderPage(referencePage(described, basePath), anonymous(basePath)),
      version: '',
    },
  };
}
