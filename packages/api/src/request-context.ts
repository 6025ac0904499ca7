import type { Actor, Context } from '@belay/core';
import type { RestContext } from '@belay/rest';

/** What only the running process can say about itself. */
export interface Host {
  /** Prefix of every path of the interface, `/api/v1` in server mode. */
  basePath: string;
  /** Requests answered since the start. */
  requests(): number;
  uptimeMilliseconds(): number;
  /** State of the queue backend, in a word (`healthy`, `unhealthy`, `off`). */
  scheduler(): Promise<string>;
  /** Jobs of the queue that this process dropped: since it started, and lately. */
  droppedJobs(): { total: number; recent: number };
  /** Whether the queue has answered since the start; asks it as long as it has not. */
  queueSeen(): Promise<boolean>;
  /** True from the moment the process was asked to stop. */
  draining(): boolean;
}

/** The context of every procedure: made by the host once per request. */
export interface RequestContext extends RestContext {
  core: Context;
  /** Who is calling, when the credential was good; null when there was none or it was not. */
  actor: Actor | null;
  host: Host;
}
