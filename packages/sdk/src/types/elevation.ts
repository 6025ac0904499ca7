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

export interface Elevation {
  status: string;
  output: { workflow_id: string; execution_id: string };
}

export interface Resumption {
  workflow_id: string;
  status: string;
  output: { approved: boolean; session_created: boolean };
}
