export type Verdict = 'approve' | 'deny';

export interface InboxEntry {
  id: string;
  execution_id: string;
  requester: { email: string; name: string };
  role: string;
  reason: string;
  duration: string;
  providers: string[];
  /** Exactly what an approval gives to whom, and how long it can outlive its end at worst (ISO 8601). */
  grants: { provider: string; identity: string; access?: unknown; residual: string; leaves_behind: string | null }[];
  /** Stands for all of the above; send it with the decision, so that nothing else can be approved by it. */
  request_digest: string;
  expires_at: string;
  created_at: string;
  count: number;
  decisions: number;
}

export interface Inbox {
  approvals: InboxEntry[];
}

export interface Decision {
  /** The approval's id or its execution's. */
  id: string;
  verdict: Verdict;
  comment?: string;
  /** What the approver was shown; a request that has changed since is a `conflict`. */
  request_digest?: string;
}

export interface Decided {
  id: string;
  status: string;
  execution_id: string;
}
