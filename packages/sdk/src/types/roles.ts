/** A piece of access that a role gives at one provider, in that provider's own terms. */
export interface RoleGrant {
  provider: string;
  access?: unknown;
}

export interface Role {
  name: string;
  description: string;
  providers: string[];
  workflows: string[];
  enabled: boolean;
  /** Who may see and request it; absent means everyone who is signed in. */
  permissions?: { users?: string[]; groups?: string[] };
  max_duration: string;
  default_duration: string;
  reason: { required: boolean; pattern?: string };
  inherits: string[];
  grants: RoleGrant[];
}

export interface RoleList {
  version: string;
  roles: Record<string, { role: Role }>;
  /** Cursor of the next page; null when there is none. */
  next: string | null;
}

export interface WorkflowSummary {
  name: string;
  description: string;
  enabled: boolean;
}

export interface WorkflowList {
  version: string;
  workflows: Record<string, WorkflowSummary>;
}

export interface Workflow extends WorkflowSummary {
  /** The definition in the Serverless Workflow DSL. */
  document: { dsl: string; namespace: string; name: string; version: string; do: unknown[] };
}
