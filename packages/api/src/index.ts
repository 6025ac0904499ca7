export type { OpenApiDocument } from './openapi.js';
export { publicProcedure } from './procedures.js';
export type { Host, RequestContext } from './request-context.js';
export type { AppRouter } from './roots.js';
export { serverRouter } from './roots.js';
export { router } from './trpc.js';
