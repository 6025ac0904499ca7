import { type BelayClient, createClient } from '@belay/sdk';
import { usage } from './cli-error.js';
import { type Credentials, openCredentials } from './credentials.js';
import { findAgent, readAgentSessions } from './find-agent.js';
import type { Shell } from './shell.js';

const fallback = 'http://127.0.0.1:8080';

/** Which programs can serve the command: any Belay program, or only a server. */
export type Reach = 'any' | 'server';

/** Where an address came from. */
export type Origin = 'option' | 'BELAY_URL' | 'agent' | 'login' | 'default';

export interface Connection {
  /** The server's address without a trailing slash; the key of its stored token. */
  server: string;
  origin: Origin;
  client: BelayClient;
  credentials: Credentials;
  signedIn: boolean;
  /** When the stored login expires; undefined for `BELAY_TOKEN`, whose expiry is unknown. */
  expiresAt: string | undefined;
}

function normalise(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash) {
    throw usage(`${JSON.stringify(address)} is not a server address, for example https://belay.example.com`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Opens the file with the stored logins. */
export function credentialsOf(shell: Shell): Credentials {
  return openCredentials({
    file: shell.credentialsFile,
    posix: shell.posix,
    randomName: () => Buffer.from(shell.randomBytes(6)).toString('hex'),
  });
}

/**
 * Returns the address to use: the option, `BELAY_URL`, the agent on this machine (when it has a session, or there is no login), the last
 * server signed in to, or the local default. Requests that an agent cannot serve go to the last server signed in to, or else to the server
 * that the agent belongs to.
 */
async function findServer(
  shell: Shell,
  option: string | undefined,
  reach: Reach,
): Promise<{ server: string; origin: Origin }> {
  if (option !== undefined) return { server: normalise(option), origin: 'option' };
  if (shell.server !== undefined) return { server: normalise(shell.server), origin: 'BELAY_URL' };
  const saved = await credentialsOf(shell).defaultServer();
  if (reach === 'server' && saved !== undefined) return { server: normalise(saved), origin: 'login' };
  const agent = shell.agent === undefined ? undefined : await findAgent(shell.agent, shell.signal);
  if (agent !== undefined && reach === 'any') {
    // An agent without a session cannot identify the user; a stored login can.
    const speaks = saved === undefined || (await readAgentSessions(agent.url, shell.signal)).size > 0;
    if (speaks) return { server: agent.url, origin: 'agent' };
  }
  if (saved !== undefined) return { server: normalise(saved), origin: 'login' };
  if (agent?.server !== undefined) return { server: normalise(agent.server), origin: 'agent' };
  return { server: fallback, origin: 'default' };
}

/**
 * Returns the server or agent to use, and a client for it with `BELAY_TOKEN` or the stored login of exactly that
 * address. Neither is sent to an address that came from an agent: another program could be listening on the agent's
 * port.
 */
export async function connect(shell: Shell, option: string | undefined, reach: Reach): Promise<Connection> {
  const credentials = credentialsOf(shell);
  const { server, origin } = await findServer(shell, option, reach);
  const discovered = origin === 'agent';
  const token = discovered ? undefined : shell.token;
  const saved = token === undefined && !discovered ? await credentials.find(server) : undefined;
  const credential = token ?? saved?.token;
  const headers = { 'user-agent': 'belay-cli' };
  const client = createClient({ url: server, token: credential, headers, timeout: shell.patience });
  return { server, origin, client, credentials, signedIn: credential !== undefined, expiresAt: saved?.expires_at };
}
