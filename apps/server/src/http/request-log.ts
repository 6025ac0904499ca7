import { performance } from 'node:perf_hooks';
import type { Context, Logger } from '@belay/core';
import type { RequestHandler } from 'express';
import { beginRequest } from './state.js';

/**
 * Gives each request its id, counts it, and writes one line when it is over. Never the query (codes, states and sealed
 * tokens travel there), a header or a body.
 */
export function logRequests(log: Logger, newId: Context['newId'], count: () => void): RequestHandler {
  return (request, response, next) => {
    const begun = performance.now();
    const state = beginRequest(request, newId);
    count();
    response.setHeader('X-Request-Id', state.id);
    const { method } = request;
    const { path } = request;
    response.once('close', () => {
      const milliseconds = Math.round((performance.now() - begun) * 10) / 10;
      const status = response.writableFinished ? response.statusCode : 499;
      const detail = { requestId: state.id, method, path, status, milliseconds, user: state.user };
      if (status >= 500) log.warn(detail, 'request');
      else log.info(detail, 'request');
    });
    next();
  };
}
