import type { Transport } from '../transport/create-transport.js';
import type { ApiConfiguration, CallOptions, Health, LogFilter, LogList, Metrics, Readiness, Sync } from '../types.js';

/** How the service is. Needs no login. */
export interface SystemResource {
  health(options?: CallOptions): Promise<Health>;
  ready(options?: CallOptions): Promise<Readiness>;
  metrics(options?: CallOptions): Promise<Metrics>;
}

/** System events, user actions and the audit trail, as far as the caller may see them. */
export interface LogsResource {
  list(filter?: LogFilter, options?: CallOptions): Promise<LogList>;
}

/** What the service says about itself. */
export interface ConfigurationResource {
  get(options?: CallOptions): Promise<ApiConfiguration>;
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
  return { list: (filter = {}, options) => transport.query('logs.list', filter, options) };
}

export function createConfiguration(transport: Transport): ConfigurationResource {
  return {
    get: (options) => transport.query('configuration.describe', undefined, options),
    sync: (options) => transport.query('configuration.sync', undefined, options),
  };
}
