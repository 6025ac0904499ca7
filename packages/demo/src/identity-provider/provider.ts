import type { EventEmitter } from 'node:events';
import type { Configuration, JWKS } from 'oidc-provider';
import { base, Check } from 'oidc-provider/lib/helpers/interaction_policy/index.js';
import { Provider } from 'oidc-provider/lib/provider.js';
import { messagePage } from './page.js';
import { claimsOf, type DemoAccount } from './people.js';
import { createMemoryStore } from './store.js';

export interface DemoClient {
  client_id: string;
  client_secret: string;
  redirect_uris: string[];
}

export interface ProviderSettings {
  issuer: string;
  people: readonly DemoAccount[];
  clients: readonly DemoClient[];
  cookieKeys: string[];
  jwks: JWKS;
  now: () => number;
  log(line: string): void;
}

const minutes = 60;
const hours = 60 * minutes;

/** Returns the OpenID provider of the demo. It offers only the authorization code flow with PKCE. */
export function createProvider(settings: ProviderSettings): Provider {
  const algorithm = signingAlgorithm(settings.jwks);
  const configuration: Configuration = {
    adapter: createMemoryStore(settings.now),
    clients: settings.clients.map((client) => ({
      ...client,
      redirect_uris: [...client.redirect_uris],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      id_token_signed_response_alg: algorithm,
    })),
    jwks: settings.jwks,
    cookies: {
      keys: settings.cookieKeys,
      // Cookies are shared between ports, so the demo's cookies need names of their own.
      names: { session: 'belay_demo_session', interaction: 'belay_demo_sign_in', resume: 'belay_demo_resume' },
    },
    responseTypes: ['code'],
    scopes: ['openid', 'profile', 'email', 'groups'],
    claims: { openid: ['sub'], profile: ['name', 'groups'], email: ['email', 'email_verified'], groups: ['groups'] },
    // Clients that never call the userinfo endpoint get the same claims.
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
    },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}`, policy: alwaysAsk() },
    ttl: {
      AccessToken: 1 * hours,
      AuthorizationCode: 1 * minutes,
      Grant: 8 * hours,
      IdToken: 1 * hours,
      Interaction: 10 * minutes,
      Session: 8 * hours,
    },
    clientBasedCORS: () => false,
    // When another person signs in with the same browser, the previous session ends, but not its tokens.
    expiresWithSession: () => false,
    async findAccount(_ctx, subject) {
      const person = settings.people.find((one) => one.subject === subject);
      return person && { accountId: subject, claims: async () => claimsOf(person) };
    },
    // The people are fictional, so no consent is needed.
    async loadExistingGrant(ctx) {
      const { client, session, provider, requestParamScopes } = ctx.oidc;
      if (!client || !session?.accountId) return undefined;
      const grant = new provider.Grant({ accountId: session.accountId, clientId: client.clientId });
      grant.addOIDCScope([...requestParamScopes].join(' '));
      await grant.save();
      return grant;
    },
    renderError(ctx, out) {
      const page = messagePage(
        ctx.status,
        `${out.error_description ?? 'The request cannot be processed'} (${out.error})`,
      );
      ctx.set(page.headers);
      ctx.body = page.body;
    },
  };
  const provider = new Provider(settings.issuer, configuration);
  const complain = (error: Error) => settings.log(`Demo identity provider: ${error.message}`);
  provider.on('server_error', (_ctx, error) => complain(error));
  // The framework prints errors that have no listener; its event is missing from the provider's types.
  (provider as EventEmitter).on('error', complain);
  return provider;
}

/** Requires a choice at each sign-in, since one browser signs in as several people in the demo. */
function alwaysAsk(): ReturnType<typeof base> {
  const policy = base();
  const asked = (login: unknown) => (login === undefined ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT);
  policy
    .get('login')
    ?.checks.add(
      new Check('not_asked', 'The person has not confirmed the sign-in', 'login_required', (ctx) =>
        asked(ctx.oidc.result?.login),
      ),
    );
  return policy;
}

function signingAlgorithm(jwks: JWKS): 'RS256' | 'ES256' | 'EdDSA' {
  const kind = jwks.keys[0]?.kty;
  if (kind === 'RSA') return 'RS256';
  if (kind === 'OKP') return 'EdDSA';
  return 'ES256';
}
