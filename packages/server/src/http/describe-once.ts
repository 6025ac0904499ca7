import type { OpenApiDocument } from '@belay/api';
import { type Asset, referencePage, renderPage } from '@belay/console';
import type { AnyTRPCRouter } from '@trpc/server';
import { anonymous } from './render.js';

interface Described {
  /** The OpenAPI document. */
  document: Asset;
  /** The page of the document. */
  reference: Asset;
}

/**
 * Returns a function that describes the router's operations. It creates the description at its first call, so that a start does
 * not wait for it, and keeps it. A failure is not kept.
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
