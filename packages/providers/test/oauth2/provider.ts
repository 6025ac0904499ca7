import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { oauth2Connector } from '../../src/index.js';

export const redirectUri = 'http://127.0.0.1:8080/callback';
export const flow = { redirectUri, state: 'the-state', nonce: 'the-nonce', codeVerifier: 'v'.repeat(43) };
export const calm = () => new AbortController().signal;

export interface Said {
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** Sends the response itself, instead of the fields above. */
  answer?(response: ServerResponse): void;
}

export interface Asked {
  path: string;
  headers: IncomingHttpHeaders;
  form: Record<string, string>;
}

const tokens = { access_token: 'the-access-token', token_type: 'bearer' };
const rita = { sub: 'rita-1', email: 'rita@example.test', email_verified: true, name: 'Rita', groups: ['engineers'] };

/** Starts a provider that returns the given response at each endpoint, and records the requests. */
export async function openProvider(said: Record<string, Said>) {
  const asked: Asked[] = [];
  const server = createServer((incoming, response) => {
    let body = '';
    incoming.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    incoming.on('end', () => {
      const path = incoming.url ?? '';
      asked.push({ path, headers: incoming.headers, form: Object.fromEntries(new URLSearchParams(body)) });
      const { status = 200, body: told, headers = {}, answer } = said[path] ?? {};
      if (answer) return answer(response);
      const usual = path === '/token' ? tokens : path === '/me' ? rita : {};
      const text = typeof told === 'string' ? told : JSON.stringify(told ?? usual);
      return response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    asked,
    open(more: Record<string, unknown> = {}) {
      const config = oauth2Connector.config.parse({
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        userinfo_endpoint: `${url}/me`,
        client_id: 'belay',
        client_secret: 'the secret: of belay',
        ...more,
      });
      const { authenticator } = oauth2Connector.create(config, { now: Date.now, log: () => {} });
      if (!authenticator?.refresh || !authenticator.reread) throw new Error('There is nothing to sign in with');
      return { exchange: authenticator.exchange, refresh: authenticator.refresh, reread: authenticator.reread };
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

export function callback(query: Record<string, string> = {}): URL {
  const url = new URL(redirectUri);
  url.search = new URLSearchParams({ code: 'the-code', state: 'the-state', ...query }).toString();
  return url;
}
