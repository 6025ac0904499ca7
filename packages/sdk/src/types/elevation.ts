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
