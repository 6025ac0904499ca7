import { type Meta, type RestContext, shapeError } from '@belay/rest';
import { initTRPC } from '@trpc/server';
import type { LocalContext, LocalPerson } from '../verbs/ports.js';

/** The context of every procedure of agent and client mode: made by the host once per request. */
export interface LocalRequestContext extends RestContext {
  local: LocalContext;
  /** The person who is signed in on this machine; null when no person is. */
  person: LocalPerson | null;
  host: { requests(): number; uptimeMilliseconds(): number };
}

/** Matches tRPC's message for a path that the router does not have. */
const missing = /^No procedure found on path/;

const t = initTRPC
  .context<LocalRequestContext>()
  .meta<Meta>()
  .create({
    isDev: false,
    errorFormatter: ({ shape, error, ctx }) => {
      // "Not found" would mean a missing resource. This error means a missing operation, for which programs call the server instead.
      if (error.code === 'NOT_FOUND' && missing.test(error.message)) {
        const mode = ctx?.local.mode ?? 'agent';
        return {
          code: shape.code,
          message: `This operation is not available in ${mode} mode; call the server`,
          data: { code: 'NOT_IMPLEMENTED', httpStatus: 501, reason: 'not_configured' as const },
        };
      }
      return shapeError(shape.code, error);
    },
  });

export const localRouter = t.router;
export const localBase = t.procedure;
