import { applyCatalog, type LiveCatalog } from '@belay/core';
import { createRegistry, oauth2Connector, oidcConnector, samlConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { openBrowser } from '@belay/testkit/browser';
import { send } from '@belay/testkit/serve';
import type { openVisitor, Visit } from '@belay/testkit/visitor';
import { createWorld, type World } from '@belay/testkit/world';
import { openGitHub } from '../../../../providers/test/support/github.js';
import {
  createSamlIdentityProvider,
  type Posted,
  type Said,
  type SamlPerson,
} from '../../../../providers/test/support/saml-identity-provider.js';
import { openRotating } from './rotating.js';

export type Visitor = ReturnType<typeof openVisitor>;

export const corpPeople: Record<'rita' | 'adam' | 'outsider', SamlPerson> = {
  rita: { nameId: 'corp-rita', attributes: { email: ['rita@corp.example'], displayName: ['Rita'], groups: ['staff'] } },
  adam: { nameId: 'corp-adam', attributes: { email: ['adam@corp.example'], displayName: ['Adam'] } },
  outsider: { nameId: 'corp-out', attributes: { email: ['adam@example.test'] } },
};

const callbackOf = (world: World, provider: string) => `${world.url}/api/v1/auth/callback/${provider}`;

/**
 * Returns the world with a provider of each kind: `demo` (OpenID Connect), `github` and `plain` (OAuth 2.0), `corp`
 * (SAML 2.0).
 */
export async function openKinds(options: { entryPoint?: string } = {}) {
  const world = await createWorld();
  const idp = createSamlIdentityProvider(options);
  const github = await openGitHub({
    users: [
      { login: 'rita-hub', name: 'Rita', email: 'rita@hub.example' },
      // A different person, with the address that Adam has at the first provider.
      { login: 'thief', name: 'Not Adam', email: 'adam@example.test' },
    ],
    // An organization of strangers with the name of a group in Belay.
    orgs: { approvers: ['rita-hub'] },
    redirectUri: callbackOf(world, 'github'),
  });
  const rotating = await openRotating(callbackOf(world, 'plain'));
  const plain = {
    ...rotating.client,
    authorization_endpoint: `${rotating.issuer}/auth`,
    token_endpoint: `${rotating.issuer}/token`,
    userinfo_endpoint: `${rotating.issuer}/me`,
    // The provider requires these scopes for user information. Its ID token is not read.
    scopes: ['openid', 'email'],
  };
  const corp = {
    entry_point: idp.entryPoint,
    idp_entity_id: idp.entityId,
    idp_certificates: [idp.certificate],
    issuer: world.url,
    email_domains: ['corp.example'],
  };
  const catalog = world.context.catalog as LiveCatalog;
  const { document } = catalog.current();
  const organizations = { scopes: ['read:user', 'user:email', 'read:org'], groups_endpoint: `${github.url}/user/orgs` };
  const providers = {
    ...document.providers,
    github: { name: 'GitHub', provider: 'oauth2', config: { ...github.config, ...organizations } },
    plain: { provider: 'oauth2', config: plain },
    corp: { name: 'Corporate', provider: 'saml', groups: 'all', config: corp },
  };
  const connectors = createRegistry([
    oauth2Connector,
    oidcConnector,
    samlConnector,
    createMemoryConnector(world.store),
  ]);
  const configure = async (settings: Partial<Record<keyof typeof providers, object>>) => {
    const changed = Object.entries(providers).map(([id, provider]) => [
      id,
      { ...provider, ...settings[id as keyof typeof providers] },
    ]);
    const input = { document: { ...document, providers: Object.fromEntries(changed) }, source: 'test' };
    await applyCatalog(world.context.db, input, { connectors, resolve: () => undefined });
    await catalog.refresh();
  };
  await configure({});

  const begin = async (browser: Visitor, provider: string) => {
    const { location } = await browser.visit(`/auth/request/${provider}`);
    return location;
  };
  /** Returns what the identity provider lets the browser post, for the request at `address`. */
  const assert = async (address: string, person: SamlPerson = corpPeople.rita, said: Said = {}) => {
    const metadata = await send(`${world.url}/api/v1/auth/metadata/corp`);
    return idp.answer(address, metadata.body, person, said);
  };
  /** Posts as a browser does from another site: without the cookies, which are SameSite=Lax. */
  const post = (
    posted: Posted | Record<string, string>,
    more: { provider?: string; headers?: Record<string, string> } = {},
  ) => {
    const body = new URLSearchParams({ ...posted }).toString();
    return send(callbackOf(world, more.provider ?? 'corp'), {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': String(Buffer.byteLength(body)),
        'sec-fetch-site': 'cross-site',
        accept: 'application/json',
        ...more.headers,
      },
      body,
    });
  };
  const land = (browser: Visitor, address: string) => browser.visit(address, { site: 'cross-site' });

  return {
    world,
    rotating,
    github,
    /** Puts different settings of the providers in force. */
    configure,
    begin,
    assert,
    post,
    land,
    /** Signs a browser in with SAML, and returns the last response. */
    async signInAtCorp(browser: Visitor, person: SamlPerson = corpPeople.rita, said: Said = {}): Promise<Visit> {
      const answered = await post(await assert(await begin(browser, 'corp'), person, said));
      return land(browser, String(answered.headers.location));
    },
    async signInAtGitHub(browser: Visitor, login = 'rita-hub'): Promise<Visit> {
      return land(browser, (await github.press(await begin(browser, 'github'), login)).href);
    },
    async signInAtPlain(browser: Visitor): Promise<Visit> {
      return land(browser, (await openBrowser().open(await begin(browser, 'plain'))).url.href);
    },
    async close() {
      await Promise.all([github.close(), rotating.close()]);
      await world[Symbol.asyncDispose]();
    },
  };
}
