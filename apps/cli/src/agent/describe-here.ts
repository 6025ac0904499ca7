import { usage } from '../cli-error.js';
import type { Shell } from '../shell.js';
import { describeService, type Service } from './service.js';

/** Variables that the service file takes over from this process, because the service has an environment of its own. None is a secret. */
const kept = [
  'BELAY_SERVER',
  'BELAY_AGENT_NAME',
  'BELAY_DATA',
  'BELAY_SYNC_SECONDS',
  'BELAY_KEYRING',
  'LOG_LEVEL',
  'NODE_EXTRA_CA_CERTS',
  'XDG_STATE_HOME',
];

export interface ServiceWishes {
  server?: string | undefined;
  port?: string | undefined;
}

/**
 * Returns the service that would run this program as an agent, as this user. Throws `usage` for a port or a variable
 * that is not valid.
 */
export async function describeServiceHere(
  { host, agentControl }: Pick<Shell, 'host' | 'agentControl'>,
  { server, port }: ServiceWishes,
): Promise<Service> {
  if (port !== undefined && (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)) {
    throw usage('--port must be a number from 1 to 65535');
  }
  const { dataDirectory } = await agentControl.status();
  const here = kept.flatMap((name) => {
    const value = host.variables[name];
    return value ? [[name, value]] : [];
  });
  const variables: Record<string, string> = {
    ...Object.fromEntries(here),
    ...(server !== undefined && { BELAY_SERVER: server }),
    ...(port !== undefined && { PORT: port }),
  };
  for (const [name, value] of Object.entries({ ...variables, BELAY_DATA: dataDirectory })) {
    // A line break would start a new line of the unit, and service files cannot hold other control characters.
    if (/\p{Cc}/u.test(value)) throw usage(`${name} contains control characters, which a service file cannot hold`);
  }
  return describeService(host, {
    command: [host.program.node, host.program.script, 'agent', 'run'],
    variables,
    dataDirectory,
    home: host.home,
  });
}
