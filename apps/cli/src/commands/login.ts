import { hostname } from 'node:os';
import { printable } from '@belay/contract/printable';
import type { BelayClient } from '@belay/sdk';
import { CliError, usage } from '../cli-error.js';
import { addCommand, type CommonOptions, type Invocation, type Parent } from '../command.js';
import type { Connection } from '../connect.js';
import { describeTimeLeft } from '../duration.js';
import type { Shell } from '../shell.js';

interface LoginOptions {
  provider?: string;
  browser: boolean;
  device?: boolean;
  agent?: boolean;
}

/** How long a person can take to sign in, in milliseconds: as long as the server keeps the sign-in flow. */
const patience = 10 * 60_000;

/** Returns the name of this program that the person sees before they sign it in. */
function programLabel(): string {
  return `belay on ${hostname()}`;
}

async function loginByBrowser(
  { server, client }: Connection,
  { options, output, interactive, shell }: Invocation<LoginOptions & CommonOptions>,
) {
  const { createProof, listenForCode } = await import('../login/listen-for-code.js');
  const provider = await chooseAuthenticator(client, options.provider, { ...shell, interactive });
  const proof = createProof(shell.randomBytes(32));
  const secret = Buffer.from(shell.randomBytes(16)).toString('base64url');
  await using listener = await listenForCode(secret, { signal: shell.signal, patience });
  const query = new URLSearchParams({
    callback: listener.callback,
    code_challenge: proof.challenge,
    code_challenge_method: 'S256',
    label: programLabel(),
  });
  const address = `${server}/api/v1/auth/request/${encodeURIComponent(provider)}?${query}`;
  output.notice(`Sign in at: ${address}`);
  if (options.browser) shell.openBrowser(address);
  const code = await listener.code;
  return client.auth.exchange({ code, code_verifier: proof.verifier }, { signal: shell.signal });
}

/**
 * Declares the command `belay login`, which signs in with a browser and stores the token (authorization code with PKCE through a loopback
 * address, RFC 8252). It always prints the address too, for a machine without a browser. With `--device`, the browser can be on another
 * machine (RFC 8628).
 */
export function addLogin(parent: Parent): void {
  addCommand<LoginOptions>(parent, {
    name: 'login',
    description: 'sign in with a browser on this machine, or on any machine with --device',
    examples: [
      'login',
      'login --url https://belay.example.com',
      'login --provider company --no-browser',
      'login --device',
      'login --agent',
    ],
    values: { provider: 'authenticators' },
    options: (command) =>
      command
        .option('--provider <provider>', 'the provider to sign in with')
        .option('--no-browser', 'print the address instead of opening a browser')
        .option('--agent', 'sign in the agent of this machine, which keeps the session for local programs')
        .option('--device', 'print a short code to confirm in any browser, for machines without a browser'),
    run: async (invocation) => {
      const { options, output, connect, shell } = invocation;
      if (options.device === true && options.provider !== undefined) {
        throw usage('--provider cannot be used with --device; choose the provider where you confirm the code');
      }
      if (options.agent === true) {
        const { loginThroughAgent } = await import('../login/login-through-agent.js');
        return loginThroughAgent(invocation);
      }
      const connection = await connect();
      const { server, client, credentials } = connection;
      const { loginByCode } = await import('../login/login-by-code.js');
      const login = options.device
        ? await loginByCode(client, programLabel(), { output, shell })
        : await loginByBrowser(connection, invocation);
      const { token, expires_at, user } = login;
      await credentials.save(server, { token, expires_at, email: user.email, provider: user.provider });
      output.result({ server, user, expires_at }, () =>
        printable(`signed in to ${server} as ${user.email}, until ${expires_at}`),
      );
      return undefined;
    },
  });
}

/** Returns the provider to sign in with: the named one, the only one, or the one that the user selects. */
async function chooseAuthenticator(
  client: BelayClient,
  named: string | undefined,
  shell: Pick<Shell, 'prompts' | 'signal' | 'interactive'>,
): Promise<string> {
  const { providers } = await client.auth.providers({ signal: shell.signal });
  const ids = providers.map(({ id }) => id).join(', ');
  if (named !== undefined) {
    if (providers.some(({ id }) => id === named)) return named;
    throw new CliError('not_found', `${named} is not a sign-in provider; available: ${ids || 'none'}`);
  }
  const [only] = providers;
  if (only === undefined) throw new CliError('not_configured', 'the server has no sign-in provider');
  if (providers.length === 1) return only.id;
  if (!shell.interactive) throw usage(`--provider is required, one of: ${ids}`);
  const choices = providers.map(({ id, name, description }) => ({ value: id, label: name, hint: description }));
  return shell.prompts.select('Sign in with', choices);
}

/**
 * Declares the command `belay logout`, which ends the session at the server and deletes its token. It succeeds even if the session has
 * already ended.
 */
export function addLogout(parent: Parent): void {
  addCommand(parent, {
    name: 'logout',
    description: 'sign out',
    examples: ['logout'],
    run: async ({ output, connect, shell }) => {
      const { server, client, credentials, signedIn } = await connect();
      if (signedIn) {
        const { isBelayError } = await import('@belay/sdk');
        await client.auth.logout(undefined, { signal: shell.signal }).catch((error: unknown) => {
          if (!isBelayError(error, 'unauthenticated')) throw error;
        });
      }
      await credentials.remove(server);
      const message = signedIn ? `signed out of ${server}` : `not signed in to ${server}`;
      output.result({ server, message }, () => message);
      return undefined;
    },
  });
}

/** Declares the command `belay whoami`, which shows the signed-in person and when the session expires. */
export function addWhoami(parent: Parent): void {
  addCommand(parent, {
    name: 'whoami',
    description: 'show who you are signed in as, at which server and until when',
    examples: ['whoami', 'whoami --json'],
    items: () => undefined,
    run: async ({ output, connect, shell }) => {
      const { server, origin, client, expiresAt } = await connect();
      const me = await client.auth.whoami({ signal: shell.signal });
      const until = me.expires_at ?? expiresAt;
      output.result({ server, found_by: origin, ...me, ...(until && { expires_at: until }) }, () =>
        output.fields({
          email: me.email,
          name: me.name,
          groups: me.groups.join(', '),
          provider: me.provider,
          server,
          'found by': origin,
          until,
          left: describeTimeLeft(until, shell.clock()),
        }),
      );
      return undefined;
    },
  });
}
