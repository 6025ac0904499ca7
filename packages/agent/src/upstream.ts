import { AccessError, type ErrorCode, errorCodes } from '@belay/contract/errors';
import { createBoundedFetch, tooLarge } from '@belay/host';
import { type BelayClient, BelayError, createClient } from '@belay/sdk';
import type { Upstream } from './verbs/ports.js';

/** How long the server may take for one response, in milliseconds. */
const longest = 10_000;

/** The largest response that is read, in bytes after decompression: many times the size of a configuration with thousands of roles. */
const largest = 16 * 1024 * 1024;

/** The agent's own calls to the server, with its own credential. The caller verifies the responses. */
export interface AgentUpstream extends Upstream {
  preflight(credential: string, report: object): Promise<unknown>;
  adopt(credential: string, next: string): Promise<void>;
  register(credential: string, environment: { name: string; description: string }): Promise<unknown>;
  postflight(credential: string, report: object): Promise<unknown>;
  sync(credential: string): Promise<unknown>;
  /** Returns the versions of a login's sessions by provider. Throws `unauthenticated` when the login has ended. */
  sessions(token: string): Promise<Record<string, { version: number; expiry: string }>>;
  /** Returns the current session of a login. */
  issue(token: string, provider: string): Promise<{ version: number; expiry: string; session: string }>;
}

/**
 * Returns the calls to the server, through the SDK. `patience` is the longest time for one response, in milliseconds; `signal` aborts every
 * request. Every method throws `AccessError`, with `unavailable` for every temporary error.
 */
export function openUpstream(
  server: string,
  { patience = longest, signal }: { patience?: number | undefined; signal?: AbortSignal | undefined } = {},
): AgentUpstream {
  const as = (token?: string): BelayClient =>
    createClient({
      url: server,
      token,
      headers: { 'user-agent': 'belay-agent' },
      retry: { attempts: 1 },
      timeout: patience,
      fetch: createBoundedFetch({ bytes: largest, milliseconds: patience }),
    });
  const anybody = as();
  const ask = async <T>(question: (options: { signal?: AbortSignal | undefined }) => Promise<T>): Promise<T> => {
    try {
      return await question({ signal });
    } catch (error) {
      throw translate(error);
    }
  };
  return {
    preflight: (credential, report) => ask((options) => as(credential).configuration.preflight(report, options)),
    adopt: async (credential, next) => void (await ask((options) => as(credential).configuration.adopt(next, options))),
    register: (credential, environment) =>
      ask((options) => as(credential).configuration.register(environment, options)),
    postflight: (credential, report) => ask((options) => as(credential).configuration.postflight(report, options)),
    sync: (credential) => ask((options) => as(credential).configuration.sync(options)),
    sessions: async (token) => (await ask((options) => as(token).sessions.list(options))).sessions,
    issue: async (token, provider) => (await ask((options) => as(token).sessions.issue(provider, options))).session,
    async exchange({ code, codeVerifier }) {
      const login = await ask((options) => anybody.auth.exchange({ code, code_verifier: codeVerifier }, options));
      return { token: login.token, person: login.user, session: login.session };
    },
    async verify(session) {
      const { provider, version, expiry, user } = await ask((options) => anybody.sessions.verify(session, options));
      return { provider, version, expiry, person: user };
    },
  };
}

function translate(error: unknown): AccessError {
  if (!(error instanceof BelayError)) throw error;
  const { code, message } = error;
  const told = errorCodes.find((each): each is ErrorCode => each === code);
  if (told !== undefined && told !== 'unavailable' && told !== 'internal') {
    return new AccessError(told, message, { ...(error.issues ? { issues: error.issues } : {}), cause: error });
  }
  return new AccessError('unavailable', explain(error), { cause: error });
}

/** Explains why there was no response, where the cause suggests a fix: an untrusted certificate needs another fix than a broken network. */
function explain(error: BelayError): string {
  const reason = codeOf(error);
  if (/CERT|SIGNATURE|ISSUER|ALTNAME|SELF_SIGNED/.test(reason)) {
    return `this machine does not trust the server's certificate (${reason}); see NODE_EXTRA_CA_CERTS`;
  }
  if (reason === tooLarge) return 'the response of the server is larger than an agent accepts';
  if (error.code === 'aborted') return 'the request was aborted';
  if (error.cause instanceof DOMException && error.cause.name === 'TimeoutError') {
    return 'the server did not respond in time';
  }
  if (error.code === 'network') return `the server cannot be reached${reason === '' ? '' : ` (${reason})`}`;
  return `the server is unavailable (${error.code})`;
}

/** Returns the system's error code from anywhere in the chain of causes. */
function codeOf(error: unknown): string {
  for (let each = error, depth = 0; each instanceof Error && depth < 6; each = each.cause, depth++) {
    const { code } = each as NodeJS.ErrnoException;
    if (typeof code === 'string' && /^[A-Z_]{4,}$/.test(code)) return code;
  }
  return '';
}
