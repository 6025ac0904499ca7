import { type Meta, shapeError } from '@belay/rest';
import { initTRPC } from '@trpc/server';

import type { RequestContext } from './request-context.js';

const t = initTRPC
  .context<RequestContext>()
  .meta<Meta>()
  .create({
    isDev: false,
    sse: { ping: { enabled: true, intervalMs: 15_000 }, client: { reconnectAfterInactivityMs: 40_000 } },
    errorFormatter: ({ shape, error }) => shapeError(shape.code, error),
  });

export const router = t.router;
export const procedure = t.procedure;
