import type { Readiness } from '@belay/contract/system';
import type { Actor, Context } from '@belay/core';
import type { RestContext } from '@belay/rest';

/** The state of the running process. */
export interface Host {
  /** Prefix of every path of the interface, `/api/v1` in server mode. */
  basePath: string;
  /** Requests that were received since the start. */
  requests(): number;
  uptimeMilliseconds(): number;
  /** Returns `healthy`, or a text that says why the queue backend is not. */
  scheduler(): Promise<string>;
  /** Jobs of the queue that this process dropped: since its start, and recently. */
  droppedJobs(): { total: number; recent: number };
  /** Whether requests can be served. */
  readiness(): Promise<Readiness>;
  /** True from the moment that the process receives the request to stop. */
  draining(): boolean;
}

/** The context of every procedure: made by the host once per request. */
export interface RequestContext extends RestContext {
  core: Context;
  /** The caller, when the credential is valid; null when it is missing or not valid. */
  actor: Actor | null;
  host: Host;
}
