import { findListeners } from '@belay/host';
import { within } from './within.js';

/** What a program on this machine reports about itself at its well-known address. */
export interface FoundAgent {
  url: string;
  version: string;
  /** The server that the agent belongs to, when the agent reports it. */
  server: string | undefined;
}

/** How long an agent on this machine may take to identify itself, in milliseconds. */
const patience = 400;

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function readServer(authEndpoint: unknown, url: string): string | undefined {
  if (typeof authEndpoint !== 'string' || !URL.canParse(authEndpoint)) return undefined;
  const { origin, pathname } = new URL(authEndpoint);
  if (origin === new URL(url).origin) return undefined;
  return `${origin}${pathname.replace(/\/(api\/v1\/)?auth\/?$/, '').replace(/\/+$/, '')}`;
}

/**
 * Returns the Belay agent at `url` if it responds within 0.4 s; undefined when another user of this machine listens there. The request has
 * no credential: where the system does not report the owner of a port, any user's program could be listening on it.
 */
export async function findAgent(url: string, signal: AbortSignal): Promise<FoundAgent | undefined> {
  try {
    if (!(await isOwnListener(url))) return undefined;
    const response = await fetch(new URL('/.well-known/api-configuration', url), {
      redirect: 'error',
      headers: { accept: 'application/json' },
      signal: within(signal, patience),
    });
    const body: unknown = await response.json();
    if (!isRecord(body) || body.serviceName !== 'belay' || body.serviceType !== 'agent') return undefined;
    return { url, version: String(body.version), server: readServer(body.authEndpoint, url) };
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Returns the version of each session of the agent at `url`, by provider; empty when it does not respond. */
export async function readAgentSessions(url: string, signal: AbortSignal): Promise<Map<string, number>> {
  try {
    const response = await fetch(new URL('/sessions', url), {
      redirect: 'error',
      headers: { accept: 'application/json' },
      signal: within(signal, patience),
    });
    const body: unknown = await response.json();
    const sessions = isRecord(body) && isRecord(body.sessions) ? Object.entries(body.sessions) : [];
    return new Map(sessions.map(([provider, kept]) => [provider, isRecord(kept) ? Number(kept.version) : 0]));
  } catch {
    signal.throwIfAborted();
    return new Map();
  }
}

/**
 * Returns whether only this user or root listens on this machine at the port of `url`. When the agent does not run,
 * another user's program on its port could trick people into signing in for that user. True for other machines, and
 * where the system does not report the owner.
 */
export async function isOwnListener(url: string): Promise<boolean> {
  const ours = process.getuid?.();
  const owners = ours === undefined ? undefined : await findListeners(url);
  return owners === undefined || (owners.length > 0 && owners.every((uid) => uid === ours || uid === 0));
}
