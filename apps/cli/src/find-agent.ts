import { findListeners } from '@belay/host';
import { within } from './within.js';

/** What a program on this machine says about itself at its well-known address. */
export interface FoundAgent {
  url: string;
  version: string;
  /** The server that it belongs to, when it says so. */
  server: string | undefined;
}

/** How long an agent on this machine may take to say that it is one, in milliseconds. */
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
 * Returns the Belay agent at `url`, if one answers there within 0.4 s; none when another user of this machine listens
 * there. It is asked without any credential: where the system does not tell the owner, any user's program could be
 * listening on the port.
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
 * Returns whether what listens on this machine at the port of `url` is this user's, or root's. A program that has the
 * port of an agent that does not run could lead people to sign in for them. True beyond this machine, and where the
 * system does not tell.
 */
export async function isOwnListener(url: string): Promise<boolean> {
  const ours = process.getuid?.();
  const owners = ours === undefined ? undefined : await findListeners(url);
  return owners === undefined || (owners.length > 0 && owners.every((uid) => uid === ours || uid === 0));
}
