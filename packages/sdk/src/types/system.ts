export interface Health {
  status: 'healthy' | 'degraded' | 'unhealthy';
  path: string;
  timestamp: string;
  version: string;
  services: {
    workflow_engine: string;
    llm: string;
    encryption: string;
    vault: string;
    scheduler: string;
    storage: string;
  };
}

export interface Readiness {
  status: 'ready' | 'not ready';
  timestamp: string;
  version: string;
}

export interface Metrics {
  uptime: string;
  total_requests: number;
  roles_count: number;
  workflows_count: number;
  providers_count: number;
  elevate_requests: number;
  overdue_revocations: number;
  failing_executions: number;
}

export type LogLevel = 'info' | 'warning' | 'error';

export interface LogFilter {
  level?: LogLevel;
  provider?: string;
  user?: string;
  workflow_id?: string;
  type?: string;
  /** ISO 8601, both inclusive. */
  since?: string;
  until?: string;
  /** At most 500. */
  limit?: number;
}

export interface LogEntry {
  timestamp: string;
  level: string;
  message: string;
  provider: string;
  /** Who acted: an e-mail address, `agent <name>` or `operator`; empty when the service did it by itself. */
  user: string;
  /** E-mail address of the person whom it concerns, as the owner of a request; empty for none. */
  owner: string;
  workflow_id: string;
  type: string;
}

export interface LogList {
  logs: LogEntry[];
}

/** One page of the export, newest first; `next` is null after the last. */
export interface LogPage {
  logs: (LogEntry & { cursor: string })[];
  next: string | null;
}

/** What an agent sends; kept as the agent's word. */
export interface AgentLogEntry {
  timestamp: string;
  level: LogLevel;
  message: string;
  type?: string;
  provider?: string;
  workflow_id?: string;
}

export interface AgentEnvironment {
  name: string;
  description: string;
}

export interface AgentReport {
  environment?: AgentEnvironment;
  /** Of the agent's program. */
  version?: string;
  catalog_version?: string;
  checks?: { name: string; ok: boolean; message?: string }[];
}

export interface AgentReported {
  success: boolean;
  version: string;
  timestamp: string;
  catalog_version: string;
  /** Whether the agent has the configuration in force. */
  current: boolean;
}

/** A task of a workflow; `path` is its JSON pointer, as in `/do/0/validate`. */
export interface WorkflowStep {
  name: string;
  path: string;
  task: string;
  call?: string;
}

/** The whole configuration, as an agent gets it. */
export interface Registration {
  success: boolean;
  services: {
    workflow_engine: { enabled: boolean; namespace: string; task_queue: string };
    llm: { enabled: boolean; provider: string };
  };
  roles: {
    definitions: Record<
      string,
      {
        name: string;
        description: string;
        providers: string[];
        workflows: string[];
        enabled: boolean;
        permissions?: { users?: string[]; groups?: string[] };
        max_duration: string;
        default_duration: string;
        reason: { required: boolean; pattern?: string };
      }
    >;
  };
  providers: {
    definitions: Record<
      string,
      {
        name: string;
        provider: string;
        description: string;
        enabled: boolean;
        capabilities: string[];
        permissions?: { users?: string[]; groups?: string[] };
      }
    >;
  };
  workflows: {
    definitions: Record<string, { name: string; description: string; enabled: boolean; steps: WorkflowStep[] }>;
  };
  catalog_version: string;
  signature: ConfigurationSignature;
}

/** By the key that an agent pins when it enrols. */
export interface ConfigurationSignature {
  key: { kid: string; x: string };
  /** Statements of older keys that name this one. */
  announced: string[];
  /** JWS (EdDSA) over the version and the digest of everything else in the answer. */
  statement: string;
}

/** What `/.well-known/api-configuration` answers. */
export interface ApiConfiguration {
  serviceName: string;
  serviceType: string;
  version: string;
  baseUrl: string;
  apiBasePath: string;
  authEndpoint: string;
  authMethods: string[];
  docsUrl: string;
  openApiSpec: string;
  /** Where a machine without a browser begins to sign in. */
  deviceEndpoint: string;
  capabilities: { workflow_engine: boolean; vault: boolean };
}

export interface Sync {
  version: string;
  timestamp: string;
  catalog_version: string;
  signature: ConfigurationSignature;
}
