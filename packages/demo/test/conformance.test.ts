import { randomBytes } from 'node:crypto';
import { type Connector, oauth2Connector, oidcConnector } from '@belay/providers';
import { authenticatorConformance } from '@belay/providers/testkit';
import { openBrowser } from '@belay/testkit/browser';
import * as vitest from 'vitest';
import { startDemoIdentityProvider } from '../src/identity-provider/start.js';

const redirectUri = 'http://127.0.0.1:8080/api/v1/auth/callback/demo';

/** Starts the demo's identity provider for a connector that is configured for its issuer. */
async function open(connector: Connector, configure: (issuer: string) => object) {
  const client = { client_id: 'belay', client_secret: randomBytes(24).toString('hex') };
  const provider = await startDemoIdentityProvider({
    port: 0,
    host: '127.0.0.1',
    people: [{ subject: 'u-ana', email: 'ana@example.test', name: 'Ana', groups: ['staff'] }],
    clients: [{ ...client, redirect_uris: [redirectUri] }],
    cookieKeys: [randomBytes(24).toString('hex')],
    log: () => {},
  });
  const authenticatorAt = async (issuer: string) => {
    const config = connector.config.parse({ ...client, ...configure(issuer) });
    const { authenticator } = await connector.create(config, { now: Date.now, log: () => {} });
    if (!authenticator) throw new Error('There is nothing to sign in with');
    return authenticator;
  };
  return {
    authenticator: await authenticatorAt(provider.issuer),
    down: await authenticatorAt('http://127.0.0.1:1'),
    redirectUri,
    secrets: [client.client_secret],
    answer: async (url: URL) => {
      const browser = openBrowser();
      const page = await browser.open(url);
      return (await browser.open(page.url, { subject: 'u-ana' })).url;
    },
    close: () => provider.close(),
  };
}

authenticatorConformance(vitest, 'oidc', async () => ({
  ...(await open(oidcConnector as Connector, (issuer) => ({ issuer, allow_insecure_issuer: true }))),
  binds: ['nonce', 'codeVerifier'],
}));

authenticatorConformance(vitest, 'oauth2 at a provider that knows PKCE', async () => ({
  ...(await open(oauth2Connector as Connector, (issuer) => ({
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/me`,
    scopes: ['openid', 'email', 'profile'],
  }))),
  binds: ['codeVerifier'],
}));
