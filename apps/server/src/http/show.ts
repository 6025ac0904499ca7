import type { RequestContext } from '@belay/api';
import type { Ask, Frame, View } from '@belay/console';
import { confirmationToken, isForeseen } from '@belay/rest';
import { type AnyTRPCRouter, callTRPCProcedure } from '@trpc/server';

interface Shown {
  router: AnyTRPCRouter;
  basePath: string;
  context: RequestContext;
  input: Readonly<Record<string, unknown>>;
}

/** Asks procedures for a page, as the caller and with no other rights; what is refused or broken is left out of the page. */
export function createAsk({ router, context }: Shown): Ask {
  return async <Output>(procedure: string, input?: object) => {
    if (!(procedure in router._def.procedures)) return undefined;
    try {
      const output: unknown = await callTRPCProcedure({
        router,
        path: procedure,
        type: 'query',
        // A reply of its own: what another procedure says about its answer is not said about the page.
        ctx: { ...context, reply: { headers: {}, cookies: [] } },
        getRawInput: async () => input,
        signal: undefined,
        batchIndex: 0,
      });
      return output as Output;
    } catch (error) {
      if (isForeseen(error)) return undefined;
      throw error;
    }
  };
}

/** The frame of a caller's pages, before anything was asked for them. */
export function frameOf(context: RequestContext, basePath: string): Frame {
  const { actor, token, request } = context;
  return {
    basePath,
    path: request.path,
    viewer: actor?.kind === 'user' ? { name: actor.name, email: actor.email } : null,
    waiting: 0,
    csrf: (action) => confirmationToken(token ?? '', action),
  };
}

/** What every page knows: who looks, and what waits for them. */
export async function createView({ router, context, basePath, input }: Shown, ask: Ask): Promise<View> {
  const frame = frameOf(context, basePath);
  const inbox = frame.viewer === null ? undefined : await ask<{ total: number }>('approvals.inbox', { limit: 1 });
  return {
    ...frame,
    input,
    now: context.core.clock(),
    once: () => context.core.newId(),
    waiting: inbox?.total ?? 0,
    offers: (procedure) => procedure in router._def.procedures,
  };
}
