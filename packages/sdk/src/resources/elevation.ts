import type { Transport } from '../transport/create-transport.js';
import type { CallOptions, Elevation, ElevationRequest, Idempotent, Resumption, Suggestion } from '../types.js';

/** Asking for access. */
export interface ElevationResource {
  /** Starts an execution that decides about the request. Tried again after a failure only with an `idempotencyKey`. */
  request(request: ElevationRequest & Idempotent, options?: CallOptions): Promise<Elevation>;
  /** What the caller's own words, or a refusal they ran into, could ask for. Nothing is requested or granted. */
  suggest(words: { reason: string }, options?: CallOptions): Promise<Suggestion>;
  /** Hands a sealed state token back to the execution that waits for it. */
  resume(state: string, options?: CallOptions): Promise<Resumption>;
}

export function createElevation(transport: Transport): ElevationResource {
  return {
    request: ({ idempotencyKey, ...request }, options) =>
      transport.mutate('elevation.request', request, { ...options, idempotencyKey }),
    suggest: (words, options) => transport.mutate('elevation.suggest', words, options),
    resume: (state, options) => transport.mutate('elevation.resume', { state }, options),
  };
}
