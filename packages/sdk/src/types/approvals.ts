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
  grants: {
    provider: string;
    identity: string;
    access?: unknown;
    residual: string;
    leaves_behind: string | null;
    /** Which target the provider leads to, as its connector tells targets apart; nothing is granted at another one. */
    target: string | null;
  }[];
  /** Stands for all of the above; send it with the decision, so that nothing else can be approved by it. */
  request_digest: string;
  expires_at: string;
  created_at: string;
  count: number;
  decisions: number;
  /** Why a second approval is needed; null for a first approval. */
  because: string | null;
}

export interface Inbox {
  /** Ordered in turns: the oldest request of each requester, then the second of each, and so on. */
  approvals: InboxEntry[];
  /** The cursor of the next page; null on the last page. */
  next: string | null;
  /** How many requests wait in total. */
  total: number;
  /** Who waits, and with how many requests. */
  requesters: { email: string; name: string; waiting: number }[];
}

/** Selects a part of the inbox. */
export interface InboxFilter {
  /** Only requests of this person, by e-mail address. */
  requester?: string;
  /** Only this approval, or the approval of this execution. */
  id?: string;
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
