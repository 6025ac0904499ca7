import { limits } from '@belay/contract/limits';
import { programVersion } from '@belay/contract/system';
import type { LocalContext, LocalLogEntry } from './ports.js';

/** The largest difference, in milliseconds, that is not yet reported as a wrong clock. */
const tolerated = 60_000;

/** Returns what this program is and the addresses of its parts (GET /.well-known/api-configuration). */
export function describeLocal(ctx: LocalContext) {
  const { version, baseUrl, server } = ctx.program;
  return {
    serviceName: 'belay',
    serviceType: ctx.mode,
    version,
    baseUrl,
    apiBasePath: '/api/v1',
    // In both modes, people sign in at the server.
    authEndpoint: `${server}/api/v1/auth`,
    authMethods: ['session', 'bearer'],
    docsUrl: `${server}/api/v1/reference`,
    openApiSpec: `${server}/api/v1/openapi.json`,
    deviceEndpoint: `${server}/api/v1/auth/device/authorization`,
    capabilities: { workflow_engine: false, vault: false },
  };
}

/** Returns the version and age of the stored configuration; null before the first one, and in client mode, which has none. */
function describeConfiguration(ctx: LocalContext) {
  const current = ctx.configuration.current();
  if (ctx.mode === 'client' || !current) return null;
  const { configuration, clock } = ctx;
  const since = configuration.confirmedAt() ?? configuration.receivedAt();
  return {
    version: current.catalog_version,
    received_at: configuration.receivedAt()?.toISOString() ?? '',
    confirmed_at: configuration.confirmedAt()?.toISOString() ?? null,
    age: durationText(since ? Math.max(0, clock().getTime() - since.getTime()) : 0),
    server: configuration.server(),
  };
}

/**
 * Returns the health of this process (GET /health): degraded after the store was reset, and in agent mode also while
 * the server is unavailable, while the clock is wrong, and without a configuration.
 */
export function localHealth(ctx: LocalContext, input: { path: string }) {
  const here = describeConfiguration(ctx);
  const storage = ctx.sessions.health();
  const reachable = ctx.mode === 'client' || ctx.configuration.server().startsWith('reachable');
  const late = Math.abs(ctx.skew()) > tolerated;
  const scheduler =
    ctx.mode === 'client' ? 'not configured' : reachable ? 'healthy' : `degraded: ${ctx.configuration.server()}`;
  const llm = ctx.configuration.current()?.services.llm.enabled ? 'at the server' : 'not configured';
  const well = reachable && storage.startsWith('healthy') && !late && (ctx.mode === 'client' || here !== null);
  const status: 'healthy' | 'degraded' | 'unhealthy' = storage.startsWith('unhealthy')
    ? 'unhealthy'
    : well
      ? 'healthy'
      : 'degraded';
  return {
    status,
    path: input.path,
    timestamp: ctx.clock().toISOString(),
    version: programVersion(ctx),
    services: {
      workflow_engine: 'at the server',
      llm,
      encryption: storage.startsWith('unhealthy') ? 'unhealthy' : 'healthy',
      vault: 'not configured',
      scheduler,
      storage,
    },
    configuration: here,
    ...(late
      ? { clock: `${durationText(Math.abs(ctx.skew()))} ${ctx.skew() > 0 ? 'ahead of' : 'behind'} the server's` }
      : {}),
  };
}

/** Returns whether requests can be served (GET /ready): agent mode needs a configuration, of any age. */
export function localReadiness(ctx: LocalContext) {
  const here = describeConfiguration(ctx);
  const ready = ctx.mode === 'client' || here !== null;
  return {
    status: ready ? ('ready' as const) : ('not ready' as const),
    timestamp: ctx.clock().toISOString(),
    version: programVersion(ctx),
    configuration: here,
  };
}

/** Returns the interface's counters (GET /metrics). Access cannot be requested here, so its counters are 0. */
export function localMetrics(ctx: LocalContext, input: { uptimeMilliseconds: number; requests: number }) {
  const current = ctx.configuration.current();
  return {
    uptime: durationText(input.uptimeMilliseconds),
    total_requests: input.requests,
    roles_count: Object.keys(current?.roles.definitions ?? {}).length,
    workflows_count: Object.keys(current?.workflows.definitions ?? {}).length,
    providers_count: Object.keys(current?.providers.definitions ?? {}).length,
    elevate_requests: 0,
    overdue_revocations: 0,
    failing_executions: 0,
    failing_providers: 0,
    undelivered_messages: 0,
    disabled_channels: 0,
    waiting_approvals: 0,
    oldest_approval_seconds: 0,
    due_work: 0,
    queue_lag_seconds: 0,
    grants_waiting_for_restore: 0,
    archive_overdue_seconds: 0,
    drifted_access: 0,
    overdue_reviews: 0,
    dropped_jobs: 0,
  };
}

/** Returns the newest entries of this process (GET /logs). */
export function listLocalLogs(
  ctx: LocalContext,
  input: {
    level?: string | undefined;
    provider?: string | undefined;
    user?: string | undefined;
    type?: string | undefined;
    workflow_id?: string | undefined;
    since?: string | undefined;
    until?: string | undefined;
    limit?: number | undefined;
  },
): { logs: LocalLogEntry[] } {
  const { limit = limits.page, since, until, ...equal } = input;
  const wanted = Object.entries(equal).filter(([, value]) => value !== undefined);
  const logs = ctx.ledger
    .entries()
    .filter((entry) => wanted.every(([name, value]) => entry[name as keyof LocalLogEntry] === value))
    .filter(({ timestamp }) => since === undefined || Date.parse(timestamp) >= Date.parse(since))
    .filter(({ timestamp }) => until === undefined || Date.parse(timestamp) <= Date.parse(until));
  return { logs: logs.slice(0, Math.min(limit, limits.page)) };
}

/** Formats a duration in ISO 8601, in whole seconds. */
function durationText(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const text = `${hours ? `${hours}H` : ''}${minutes ? `${minutes}M` : ''}${rest ? `${rest}S` : ''}`;
  return `PT${text || '0S'}`;
}
