/**
 * Where a request stands for people: `active` when all of it can be used, `ending` when it is over and not yet verified as
 * removed, `ended` when nothing is held any more, `denied` also when it was not decided in time.
 */
export type ExecutionState =
  | 'running'
  | 'waiting_for_approval'
  | 'granting'
  | 'active'
  | 'ending'
  | 'ended'
  | 'denied'
  | 'cancelled'
  | 'terminated'
  | 'failed';

/** What can be waited for: that approvers can decide, that they have, that access can be used, that nothing is held any more. */
export type WaitTarget = 'approval' | 'decision' | 'active' | 'ended';

export interface Execution {
  workflow_id: string;
  run_id: string;
  /** The workflow's: pending, running, waiting, suspended, completed, faulted, cancelled or terminated. */
  status: string;
  state: ExecutionState;
  start_time: string;
  execution_time: string;
  task_queue: string;
  user: string;
  workflow_type: { name: string };
  role: string;
  providers: string[];
  reason: string;
  duration: string;
  waiting_for: string[];
}

export interface ExecutionList {
  executions: Execution[];
  /** Cursor of the next page; null when there is none. */
  next: string | null;
}

export interface HistoryEntry {
  event_type: string;
  timestamp: string;
  message: string;
  task?: string;
}

export interface ExecutionApproval {
  id: string;
  status: string;
  expires_at: string;
  approvers: { users: string[]; groups: string[] };
  count: number;
  request_digest: string;
  /** Why a second approval was needed; null for a first approval. */
  because: string | null;
  decisions: { approver: string; verdict: string; comment: string | null; decided_at: string }[];
}

/** `ended` is over but not taken away yet; `gone` is taken away; `failed` never was. */
export type GrantState = 'granting' | 'active' | 'ended' | 'gone' | 'failed';

export interface ExecutionGrant {
  provider: string;
  identity: string;
  /** In the provider's own terms. */
  access?: unknown;
  state: GrantState;
  granted_at: string | null;
  expires_at: string | null;
  ended_reason: string | null;
  /** When the provider had it no longer. */
  gone_at: string | null;
  /** How much longer than that it can work at worst, in what the provider has issued: an ISO 8601 duration. */
  residual: string;
  /** What the holder may leave behind that a revocation does not remove, in a sentence; null for nothing. */
  leaves_behind: string | null;
  last_error: string | null;
}

export interface ExecutionDetails extends Execution {
  /** Oldest first. */
  history: HistoryEntry[];
  /** Cursor of the older entries; null when there are none. */
  next: string | null;
  input?: unknown;
  output?: unknown;
  error: { type: string; status: number; title?: string; detail?: string; instance?: string } | null;
  end_time: string | null;
  approvals: ExecutionApproval[];
  grants: ExecutionGrant[];
}

export interface ExecutionStart {
  workflow: string;
  input: {
    role: string;
    provider?: string;
    providers?: string[];
    reason?: string;
    duration?: string;
    identities?: string[];
  };
}

export interface StartedExecution {
  workflow_id: string;
  run_id: string;
  status: string;
}

export interface ExecutionEvent {
  /** Rises with every event of the execution; the `lastEventId` to resume after. */
  seq: number;
  event_type: string;
  timestamp: string;
  message: string;
  task?: string;
  status: string;
}

/** What was done, for calls that have no more to say. */
export interface Done {
  status: string;
  message: string;
}

/** A signal that the service sealed for the caller, for `executions.signal`. */
export interface SealedSignal {
  input: string;
  expires_at: string;
}

export interface Signalled {
  message: string;
  workflow_id: string;
}
