import { BelayError } from './errors.js';
import { type AccessResource, createAccess } from './resources/access.js';
import { type AdminResource, createAdmin } from './resources/admin.js';
import { type ApprovalsResource, createApprovals } from './resources/approvals.js';
import { type AuthResource, createAuth } from './resources/auth.js';
import { type CommentsResource, createComments } from './resources/comments.js';
import { createElevation, type ElevationResource } from './resources/elevation.js';
import { createExecutions, type ExecutionsResource } from './resources/executions.js';
import { createPreferences, type PreferencesResource } from './resources/preferences.js';
import { createProviders, type ProvidersResource } from './resources/providers.js';
import { createReviews, type ReviewsResource } from './resources/reviews.js';
import { createRoles, type RolesResource } from './resources/roles.js';
import { createRuns, type RunsResource } from './resources/runs.js';
import { createSessions, type SessionsResource } from './resources/sessions.js';
import {
  type ConfigurationResource,
  createConfiguration,
  createLogs,
  createSystem,
  type LogsResource,
  type SystemResource,
} from './resources/system.js';
import { createWorkflows, type WorkflowsResource } from './resources/workflows.js';
import { createTransport } from './transport/create-transport.js';
import type { RetryPolicy } from './transport/retry.js';
import type { Fetch } from './transport/send.js';

export interface ClientOptions {
  /** The address of Belay, for example `https://belay.example.com`; its path is kept. */
  url: string | URL;
  /** A bearer token, as `auth.exchange` returns it and `belay token create` prints it. */
  token?: string | undefined;
  /** Used instead of the global `fetch`, for a proxy or a test. */
  fetch?: Fetch | undefined;
  /** Sent with every request. */
  headers?: Record<string, string> | undefined;
  /** How calls that are safe to repeat are retried. */
  retry?: Partial<RetryPolicy> | undefined;
  /**
   * How long a call may take with all its retries, and a watch until it is connected, in milliseconds. Default: 30 000. Then the call
   * throws `network`, or the last error if it was waiting to retry. `Infinity` sets no limit; a call's own `signal` can end it earlier.
   */
  timeout?: number | undefined;
}

/** The whole API, named by resource. Every method throws BelayError and takes `{ signal }` last. */
export interface BelayClient {
  readonly providers: ProvidersResource;
  readonly roles: RolesResource;
  readonly reviews: ReviewsResource;
  readonly runs: RunsResource;
  readonly workflows: WorkflowsResource;
  readonly elevation: ElevationResource;
  readonly executions: ExecutionsResource;
  readonly approvals: ApprovalsResource;
  readonly comments: CommentsResource;
  readonly access: AccessResource;
  readonly admin: AdminResource;
  readonly auth: AuthResource;
  readonly sessions: SessionsResource;
  readonly preferences: PreferencesResource;
  readonly system: SystemResource;
  readonly logs: LogsResource;
  readonly configuration: ConfigurationResource;
}

const defaultRetry: RetryPolicy = { attempts: 4, streamAttempts: 12, firstDelay: 200, longestDelay: 5_000 };

const defaultTimeout = 30_000;

function procedureUrl(url: string | URL): string {
  const base = URL.canParse(String(url)) ? new URL(url) : undefined;
  if (base?.protocol !== 'http:' && base?.protocol !== 'https:') {
    throw new BelayError('invalid', 'url must be an absolute http or https address', { status: 0 });
  }
  return `${base.origin}${base.pathname.replace(/\/+$/, '')}/trpc`;
}

/**
 * Returns a client of the server at `url`. It connects only when it is used, and keeps nothing open between calls.
 * Throws `invalid` when `url` is not an absolute http or https address.
 */
export function createClient(options: ClientOptions): BelayClient {
  const { token, headers = {} } = options;
  const transport = createTransport({
    url: procedureUrl(options.url),
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    headers: token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` },
    retry: { ...defaultRetry, ...options.retry },
    patience: { delay: wait, random: Math.random },
    timeout: options.timeout ?? defaultTimeout,
  });
  return {
    providers: createProviders(transport),
    roles: createRoles(transport),
    reviews: createReviews(transport),
    runs: createRuns(transport),
    workflows: createWorkflows(transport),
    elevation: createElevation(transport),
    executions: createExecutions(transport),
    approvals: createApprovals(transport),
    comments: createComments(transport),
    access: createAccess(transport),
    admin: createAdmin(transport),
    auth: createAuth(transport),
    sessions: createSessions(transport),
    preferences: createPreferences(transport),
    system: createSystem(transport),
    logs: createLogs(transport),
    configuration: createConfiguration(transport),
  };
}

/** Resolves after a time; throws `aborted` as soon as the signal aborts. Removes both the timer and the listener. */
function wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(new BelayError('aborted', 'the call was aborted', { status: 0, cause: signal?.reason }));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, milliseconds);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}
