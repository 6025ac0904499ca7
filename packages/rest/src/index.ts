export { bodyType, parseJsonObject, readBody } from './body.js';
export { challengeOf } from './challenge.js';
export type { ErrorBody, PublishedError } from './errors.js';
export { errorTable, internalMessage, isForeseen, publishError, shapeError, withIssues } from './errors.js';
export { parseFields } from './fields.js';
export type { Meta, RestMeta } from './meta.js';
export { renderMetrics } from './metrics-text.js';
export { toUrlencoded } from './multipart.js';
export { names, negotiate } from './negotiate.js';
export type { DeclaredOperation } from './operations.js';
export { listOperations } from './operations.js';
export { published, Refusal, refuse, refuseField } from './refusal.js';
export type { Operation, Route } from './route-table.js';
export { createRouteTable } from './route-table.js';
export type { CookieNames } from './security.js';
export {
  confirmationToken,
  cookieNames,
  isConfirmationToken,
  isPrefetch,
  isSameOrigin,
  readCookie,
  readCredential,
  writeCookie,
} from './security.js';
export type { RequestState } from './state.js';
export { beginRequest, requestIds, stateOf } from './state.js';
export type { StreamPage } from './stream.js';
export { ndjson, streamPages } from './stream.js';
