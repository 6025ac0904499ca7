import type { Transport } from '../transport/create-transport.js';
import type {
  AgentEnvironment,
  AgentLogEntry,
  AgentReport,
  AgentReported,
  ApiConfiguration,
  CallOptions,
  Health,
  LogFilter,
  LogList,
  LogPage,
  Metrics,
  Readiness,
  Registration,
  Sync,
} from '../types.js';

/** How the service is. Needs no login. */
export interface SystemResource {
  health(options?: CallOptions): Promise<Health>;
  ready(options?: CallOptions): Promise<Readiness>;
  metrics(options?: CallOptions): Promise<Metrics>;
}

/** System events, user actions and the audit trail, as far as the caller may see them. */
export interface LogsResource {
  list(filter?: LogFilter, options?: CallOptions): Promise<LogList>;
  /** Every entry, newest first, page by page as the caller goes on; `cursor` goes on after an entry read before. */
  export(
    filter?: LogFilter & { cursor?: string },
    options?: CallOptions,
  ): AsyncGenerator<LogPage['logs'][number], void, undefined>;
  /** Sends entries, with the credential of an agent. All are taken, or none. */
  record(entries: AgentLogEntry[], options?: CallOptions): Promise<{ accepted: number }>;
}

/** What the service says about itself. */
export interface ConfigurationResource {
  get(options?: CallOptions): Promise<ApiConfiguration>;
  /** With the credential of an agent: how it stands before it registers. */
  preflight(report: AgentReport, options?: CallOptions): Promise<AgentReported>;
  /** With the credential of an agent: the whole configuration. A repetition changes nothing. */
  register(environment: AgentEnvironment, options?: CallOptions): Promise<Registration>;
  /** With the credential of an agent: how it stands once it is set up. */
  postflight(report: AgentReport, options?: CallOptions): Promise<AgentReported>;
  /** With the credential of an agent: puts one of the agent's own making in its place. */
  adopt(credential: string, options?: CallOptions): Promise<{ success: boolean; expires_at: string }>;
  /** The version of the program and of its catalog. */
  sync(options?: CallOptions): Promise<Sync>;
}

export function createSystem(transport: Transport): SystemResource {
  return {
    health: (options) => transport.query('system.health', undefined, options),
    ready: (options) => transport.query('system.ready', undefined, options),
    metrics: (options) => transport.query('system.metrics', undefined, options),
  };
}

export function createLogs(transport: Transport): LogsResource {
  return {
    list: (filter = {}, options) => transport.query('logs.list', filter, options),
    async *export(filter = {}, options) {
      let page = await transport.query('logs.export', filter, options);
      for (;;) {
        yield* page.logs;
        if (page.next === null) return;
        page = await transport.query('logs.export', { ...filter, cursor: page.next }, options);
      }
    },
    record: (entries, options) => transport.mutate('logs.record', { entries }, options),
  };
}

export function createConfiguration(transport: Transport): ConfigurationResource {
  return {
    get: (options) => transport.query('configuration.describe', undefined, options),
    preflight: (report, options) => transport.mutate('configuration.preflight', report, options),
    register: (environment, options) => transport.mutate('configuration.register', { environment }, options),
    postflight: (report, options) => transport.mutate('configuration.postflight', report, options),
    adopt: (credential, options) => transport.mutate('configuration.adopt', { credential }, options),
    sync: (options) => transport.query('configuration.sync', undefined, options),
  };
}
