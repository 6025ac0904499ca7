import { CliError } from '../cli-error.js';
import { findAgent } from '../find-agent.js';
import { within } from '../within.js';

/** The status that a running agent reports (`GET /health`, `GET /sessions`). Of sessions, it has only the version and the expiry. */
export interface AgentAnswer {
  version: string;
  status: string;
  services: Record<string, string>;
  clock: string | undefined;
  configuration: { version: string; age: string; confirmed_at: string | null; server: string } | undefined;
  sessions: Record<string, { version: number; expiry: string }>;
}

/** How long the agent may take, in milliseconds. */
const patience = 5_000;

interface Health {
  status: string;
  services: Record<string, string>;
  clock?: string;
  configuration?: AgentAnswer['configuration'] | null;
}

/**
 * Returns the status of the agent at `url`; undefined when no agent responds there. Throws `unavailable` when an agent
 * responds but returns no status.
 */
export async function askAgent(url: string, signal: AbortSignal): Promise<AgentAnswer | undefined> {
  const found = await findAgent(url, signal);
  if (found === undefined) return undefined;
  const limited = within(signal, patience);
  const read = async <Body>(path: string): Promise<Body> => {
    try {
      const response = await fetch(`${url}${path}`, { headers: { accept: 'application/json' }, signal: limited });
      return (await response.json()) as Body;
    } catch (cause) {
      signal.throwIfAborted();
      throw new CliError('unavailable', `the agent at ${url} returned no status`, { cause });
    }
  };
  const health = await read<Health>('/health');
  const listed = await read<{ sessions?: AgentAnswer['sessions'] }>('/sessions').catch(() => undefined);
  const sessions = Object.entries(listed?.sessions ?? {}).map(([id, { version, expiry }]) => [id, { version, expiry }]);
  return {
    version: found.version,
    status: health.status,
    services: health.services,
    clock: health.clock,
    configuration: health.configuration ?? undefined,
    sessions: Object.fromEntries(sessions),
  };
}
