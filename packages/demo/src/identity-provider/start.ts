import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { arriving } from '@belay/program';
import type { JWKS } from 'oidc-provider';
import { isFromHere } from '../only-here.js';
import { answerInteraction, interactionPath, pathOf, send } from './interaction.js';
import { messagePage } from './page.js';
import type { DemoAccount } from './people.js';
import { createProvider, type DemoClient } from './provider.js';

export interface DemoIdentityProviderOptions {
  /** 0 takes any free port. */
  port: number;
  host: '127.0.0.1' | '::1';
  people: readonly DemoAccount[];
  /** Clients authenticate with `client_secret_basic`. */
  clients: readonly DemoClient[];
  /** The keys that sign the cookies; the first one signs new cookies. With the same keys after a restart, signed cookies stay valid. */
  cookieKeys: string[];
  /** Private signing keys. Default: a new key that lasts as long as the process. */
  jwks?: JWKS;
  log(line: string): void;
}

export interface DemoIdentityProvider {
  issuer: string;
  close(): Promise<void>;
}

/**
 * Starts the demo's OpenID provider on the loopback interface, where fictional people sign in by choosing their name. Rejects when the port
 * is in use or the options are invalid. Only for demos and tests.
 */
export async function startDemoIdentityProvider(options: DemoIdentityProviderOptions): Promise<DemoIdentityProvider> {
  // Every client that reaches this provider can sign in as any person, so only this machine may reach it.
  if (options.host !== '127.0.0.1' && options.host !== '::1') {
    throw new Error('The demo identity provider listens on the loopback interface only');
  }
  if (options.cookieKeys.length === 0) throw new Error('The demo identity provider needs a key for its cookies');
  const server = createServer(arriving);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const authority = `${options.host === '::1' ? '[::1]' : options.host}:${port}`;
  const issuer = `http://${authority}`;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });

  try {
    const { people, clients, cookieKeys, jwks = makeKeys(), log } = options;
    const provider = createProvider({ issuer, people, clients, cookieKeys, jwks, now: Date.now, log });
    const interaction = { provider, issuer, people, destinations: destinationsOf(clients), now: Date.now };
    const answer = provider.callback();
    server.on('request', (request, response) => {
      // A host name that a foreign DNS server points here must not count as this machine (DNS rebinding).
      if (request.headers.host !== authority || !isFromHere(request)) {
        return send(response, messagePage(421, `Not found. This identity provider is ${issuer}.`));
      }
      if (!interactionPath.test(pathOf(request))) return answer(request, response);
      answerInteraction(interaction, request, response).catch((error: unknown) => {
        log(`Demo identity provider: ${error instanceof Error ? error.message : 'a sign-in failed'}`);
        if (!response.headersSent) send(response, messagePage(500, 'Internal error.'));
        response.end();
      });
    });
  } catch (error) {
    await close();
    throw error;
  }
  return { issuer, close };
}

/** Returns the clients' own origins and every port of this machine: a command line waits for its browser on one of them. */
function destinationsOf(clients: readonly DemoClient[]): string[] {
  const own = clients.flatMap(({ redirect_uris }) => redirect_uris.map((uri) => new URL(uri).origin));
  return [...new Set([...own, 'http://127.0.0.1:*', 'http://localhost:*'])];
}

function makeKeys(): JWKS {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { keys: [{ ...privateKey.export({ format: 'jwk' }), kty: 'EC', alg: 'ES256', use: 'sig', kid: 'demo' }] };
}
