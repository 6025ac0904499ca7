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
}

export interface LogFilter {
  level?: string;
  provider?: string;
  user?: string;
  workflow_id?: string;
  /** At most 500. */
  limit?: number;
}

export interface LogEntry {
  timestamp: string;
  level: string;
  message: string;
  provider: string;
  user: string;
  workflow_id: string;
  type: string;
}

export interface LogList {
  logs: LogEntry[];
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
  capabilities: { workflow_engine: boolean; vault: boolean };
}

export interface Sync {
  version: string;
  timestamp: string;
  catalog_version: string;
}
