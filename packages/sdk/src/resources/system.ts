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

/** The health of the service. Needs no login. */
export interface SystemResource {
  health(options?: CallOptions): Promise<Health>;
  ready(options?: CallOptions): Promise<Readiness>;
  metrics(options?: CallOptions): Promise<Metrics>;
}

/** The events that the caller may see: system events, actions of users, and the audit log. */
export interface LogsResource {
  list(filter?: LogFilter, options?: CallOptions): Promise<LogList>;
  /** Yields every entry, newest first, reading each page when it is needed; `cursor` continues after an earlier entry. */
  export(
    filter?: LogFilter & { cursor?: string },
    options?: CallOptions,
  ): AsyncGenerator<LogPage['logs'][number], void, undefined>;
  /** Sends entries, with the credential of an agent. Either all or none are accepted. */
  record(entries: AgentLogEntry[], options?: CallOptions): Promise<{ accepted: number }>;
}

/** The description of the service, and the calls of agents. */
export interface ConfigurationResource {
  get(options?: CallOptions): Promise<ApiConfiguration>;
  /** With the credential of an agent: reports its state before it registers. */
  preflight(report: AgentReport, options?: CallOptions): Promise<AgentReported>;
  /** With the credential of an agent: returns the whole configuration. Safe to repeat. */
  register(environment: AgentEnvironment, options?: CallOptions): Promise<Registration>;
  /** With the credential of an agent: reports its state once it is set up. */
  postflight(report: AgentReport, options?: CallOptions): Promise<AgentReported>;
  /** With the credential of an agent: replaces it with one that the agent created itself. */
  adopt(credential: string, options?: CallOptions): Promise<{ success: boolean; expires_at: string }>;
  /** Returns the version of the program and of its catalog. */
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
