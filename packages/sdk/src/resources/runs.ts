import type { Transport } from '../transport/create-transport.js';
import type { Beat, CallOptions, Run, RunEnd, RunRequest } from '../types.js';

/** Commands that run with access: it is given back when they end, or when their heartbeat is missing. */
export interface RunsResource {
  /** Joins the caller's own request for this role, or requests it. */
  start(request: RunRequest, options?: CallOptions): Promise<Run>;
  /** Keeps a run for another lease. Throws `conflict` when it has ended. */
  beat(runId: string, options?: CallOptions): Promise<Beat>;
  /** Ends a run, and gives the access back where no other run uses it. May be repeated. */
  end(runId: string, options?: CallOptions): Promise<RunEnd>;
}

export function createRuns(transport: Transport): RunsResource {
  return {
    start: (request, options) => transport.mutate('runs.start', request, options),
    beat: (run_id, options) => transport.mutate('runs.beat', { run_id }, options),
    // An end that is repeated returns the same outcome.
    end: (run_id, options) => transport.mutate('runs.end', { run_id }, { ...options, repeatable: true }),
  };
}
