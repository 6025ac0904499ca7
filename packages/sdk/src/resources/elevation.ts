import type { Transport } from '../transport/create-transport.js';
import type {
  CallOptions,
  DynamicBounds,
  DynamicElevationRequest,
  Elevation,
  ElevationRequest,
  Idempotent,
  ManyElevations,
  ManyRequested,
  ResumeRequest,
  Resumption,
  Suggestion,
} from '../types.js';

/** Requests access. */
export interface ElevationResource {
  /** Starts an execution that decides about the request. Retried after a failure only with an `idempotencyKey`. */
  request(request: ElevationRequest & Idempotent, options?: CallOptions): Promise<Elevation>;
  /**
   * Requests several roles on the same terms, each as its own request; `results` has the result of each. Retried after a failure only with
   * an `idempotencyKey`.
   */
  requestMany(request: ManyElevations & Idempotent, options?: CallOptions): Promise<ManyRequested>;
  /** Requests access without a role, where the configuration allows it (`dynamicBounds`). */
  requestDynamic(request: DynamicElevationRequest & Idempotent, options?: CallOptions): Promise<Elevation>;
  /** Returns the bounds within which the caller can request access without a role; empty in most configurations. */
  dynamicBounds(options?: CallOptions): Promise<{ bounds: DynamicBounds[] }>;
  /** Returns requests that match the caller's words or a pasted error message. Requests and grants nothing. */
  suggest(words: { reason: string }, options?: CallOptions): Promise<Suggestion>;
  /** Seals a decision, or an event that a task listens for, for the caller only. Returns the state that `resume` takes. */
  prepareResume(request: ResumeRequest, options?: CallOptions): Promise<{ state: string }>;
  /** Passes a sealed state, or a task token, to the execution that waits for it. */
  resume(state: string, options?: CallOptions): Promise<Resumption>;
}

export function createElevation(transport: Transport): ElevationResource {
  return {
    request: ({ idempotencyKey, ...request }, options) =>
      transport.mutate('elevation.request', request, { ...options, idempotencyKey }),
    requestMany: ({ idempotencyKey, ...request }, options) =>
      transport.mutate('elevation.requestMany', request, { ...options, idempotencyKey }),
    requestDynamic: ({ idempotencyKey, ...request }, options) =>
      transport.mutate('elevation.request', request, { ...options, idempotencyKey }),
    dynamicBounds: (options) => transport.query('elevation.dynamic', undefined, options),
    suggest: (words, options) => transport.mutate('elevation.suggest', words, { ...options, repeatable: true }),
    prepareResume: (request, options) => transport.mutate('elevation.prepareResume', request, options),
    resume: (state, options) => transport.mutate('elevation.resume', { state }, options),
  };
}
