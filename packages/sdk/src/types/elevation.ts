export interface ElevationRequest {
  /** The name of a role. */
  role: string;
  /** Where; all of the role's providers when left out. */
  providers?: string[];
  /** Most roles want one. */
  reason?: string;
  /** How long; the role's default when left out. */
  duration?: string;
  /** For whom; the caller's own identity when left out. Others need the role's permission. */
  identities?: string[];
  /** One of the role's workflows; its first when left out. */
  workflow?: string;
  /** Whom to ask, when the workflow offers a choice of authenticators. */
  authenticator?: string;
}

/** A request that names what it wants itself, and no role; only within the bounds that `dynamicBounds` lists. */
export interface DynamicElevationRequest extends Omit<ElevationRequest, 'role' | 'providers'> {
  providers: string[];
  /** The providers' own permissions; each goes to every provider of the request. */
  permissions?: string[];
  resources?: string[];
  /** The providers' own roles to become a member of, `<provider>:<role>`. */
  groups?: string[];
  /** Whom to elevate, beside `identities`. */
  users?: string[];
}

/** Names that may be asked for, and those that may not; `*` stands for any run of characters. */
export interface NameRules {
  allow: string[];
  deny: string[];
}

/** Within what one may ask for access of one's own choosing at a provider. */
export interface DynamicBounds {
  provider: string;
  name: string;
  permissions: NameRules;
  resources: NameRules;
  groups: NameRules;
  workflows: string[];
  /** ISO 8601. */
  max_duration: string;
  default_duration: string;
  /** Whether one may ask for others. */
  for_others: boolean;
}

/** What resumes a waiting workflow: a decision about what was shown, or an event that a task listens for. */
export type ResumeRequest =
  | { execution_id: string; verdict: 'approve' | 'deny'; request_digest: string }
  | { execution_id: string; event: { type: string; data?: unknown } };

/** What a call that starts something takes beside its input. */
export interface Idempotent {
  /** The same key and input give the same execution for 24 hours, so that the call may be tried again. */
  idempotencyKey?: string | undefined;
}

/** What a request could be, in the interface's own names for it. */
export interface SuggestedRequest {
  /** Empty when nothing fits. */
  suggested_role: string;
  /** ISO 8601. */
  suggested_duration: string;
  suggested_providers: string[];
  /** The name of the workflow that a request would start; nothing has been started. */
  workflow_id: string;
}

/** How words were understood. Nothing was requested. */
export interface Suggestion {
  status: 'suggested' | 'no_match';
  output: SuggestedRequest & {
    /** The words that led here. */
    matched: string[];
    engine: 'lexical' | 'model';
    alternatives: SuggestedRequest[];
  };
}

export interface Elevation {
  status: string;
  output: { workflow_id: string; execution_id: string };
}

export interface Resumption {
  workflow_id: string;
  status: string;
  output: { approved: boolean; session_created: boolean };
}
