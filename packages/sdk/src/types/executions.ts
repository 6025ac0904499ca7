export interface Execution {
  workflow_id: string;
  run_id: string;
  /** pending, running, waiting, suspended, completed, faulted, cancelled or terminated. */
  status: string;
  start_time: string;
  execution_time: string;
  task_queue: string;
  user: string;
  workflow_type: { name: string };
  role?: string | null;
  providers: string[];
  reason?: string | null;
  duration?: string | null;
  waiting_for: string[];
}

export interface ExecutionList {
  executions: Execution[];
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
  decisions: { approver: string; verdict: string; comment: string | null; decided_at: string }[];
}

export type GrantState = 'granting' | 'active' | 'ended' | 'revoking' | 'gone';

export interface ExecutionGrant {
  provider: string;
  identity: string;
  /** In the provider's own terms. */
  access?: unknown;
  state: GrantState;
  granted_at: string | null;
  expires_at: string | null;
  ended_reason: string | null;
  residual: string | null;
  last_error: string | null;
}

export interface ExecutionDetails extends Execution {
  history: HistoryEntry[];
  input?: unknown;
  output?: unknown;
  error: { type: string; status: number; title?: string; detail?: string; instance?: string } | null;
  end_time: string | null;
  approvals: ExecutionApproval[];
  grants: ExecutionGrant[];
}

export interface ExecutionStart {
  workflow: string;
  /** Checked against the workflow's own schema, which may want more than these. */
  input: { role: string; provider: string; reason: string; duration?: string; [field: string]: unknown };
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

export interface Signalled {
  message: string;
  workflow_id: string;
}
