import { type BelayClient, createClient } from '@belay/sdk';
import { usage } from './cli-error.js';
import { type Credentials, openCredentials } from './credentials.js';
import type { Shell } from './shell.js';

const fallback = 'http://127.0.0.1:8080';

export interface Connection {
  /** The server's address without a slash at its end: also what its token is stored under. */
  server: string;
  client: BelayClient;
  credentials: Credentials;
  signedIn: boolean;
}

function normalise(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash) {
    throw usage(`${JSON.stringify(address)} is not the address of a server; use http://… or https://…`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/**
 * The server that is meant (the option, `BELAY_URL`, the last one signed in to, the local default) and a client for it,
 * with `BELAY_TOKEN` or what a login to that very server left behind.
 */
export async function connect(shell: Shell, option: string | undefined): Promise<Connection> {
  const credentials = openCredentials({
    file: shell.credentialsFile,
    posix: shell.posix,
    randomName: () => Buffer.from(shell.randomBytes(6)).toString('hex'),
  });
  const server = normalise(option ?? shell.server ?? (await credentials.defaultServer()) ?? fallback);
  const token = shell.token ?? (await credentials.find(server))?.token;
  const client = createClient({ url: server, token, headers: { 'user-agent': 'belay-cli' } });
  return { server, client, credentials, signedIn: token !== undefined };
}
