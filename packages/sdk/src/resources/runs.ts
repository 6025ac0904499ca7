import type { Transport } from '../transport/create-transport.js';
import type { Beat, CallOptions, Run, RunEnd, RunRequest } from '../types.js';

/** Commands that run with access. The access is given back when a command ends, or when its heartbeat is missing. */
export interface RunsResource {
  /** Joins the caller's own request for this role, or requests the role. */
  start(request: RunRequest, options?: CallOptions): Promise<Run>;
  /** Extends a run by another lease. Throws `conflict` when it has ended. */
  beat(runId: string, options?: CallOptions): Promise<Beat>;
  /** Ends a run, and gives the access back if a run requested it and no other run uses it. Can be repeated. */
  end(runId: string, options?: CallOptions): Promise<RunEnd>;
}

export function createRuns(transport: Transport): RunsResource {
  return {
    start: (request, options) => transport.mutate('runs.start', request, options),
    beat: (run_id, options) => transport.mutate('runs.beat', { run_id }, options),
    // Repeating the call returns the same outcome.
    end: (run_id, options) => transport.mutate('runs.end', { run_id }, { ...options, repeatable: true }),
  };
}
