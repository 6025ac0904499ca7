import { createHash } from 'node:crypto';
import { type Act, type Exchange, type Message, type Reply, startEmulator } from '@belay/targets';
import { type CryptoKey, decodeJwt, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

/** An emulator of `emulate`, and how the vendor differs from it. */
export interface Vendor {
  service: 'okta' | 'google' | 'microsoft';
  seed: Record<string, unknown>;
  /** Parts of the addresses in its discovery document. */
  paths: { authorize: string; token: string; keys: string; userinfo: string };
  /** Returns whether the vendor issues a refresh token for an authorization request; the emulators always issue one. */
  refreshes(request: URLSearchParams): boolean;
  /** Returns the vendor's claims of an ID token, given those of the emulator. */
  idToken?(claims: JWTPayload): JWTPayload;
  /** Returns the vendor's claims at the userinfo endpoint, given those of the emulator. */
  userInfo?(claims: JWTPayload): JWTPayload;
  /** Returns a request for tokens in a form that the emulator can read. */
  tokenRequest?(request: Message): Message;
}

/** How a test forges the next ID token. */
export interface Forgery {
  claims?: JWTPayload;
  key?: CryptoKey;
}

const issued = /^(access|refresh)_token$/;
const signing = { alg: 'RS256', kid: 'front' };
/** Created once for all files of a process, because an RSA key takes a while. */
const ownKeys = generateKeyPair('RS256', { modulusLength: 2048 });
const foreignKeys = generateKeyPair('RS256', { modulusLength: 2048 });

/**
 * Starts a vendor's emulator with a proxy in front of it, which signs ID tokens itself, so that they can have the claims that the vendor
 * documents and the emulator lacks, and so that a test can forge one.
 */
export async function startIssuer(vendor: Vendor) {
  const { privateKey, publicKey } = await ownKeys;
  const keys = { keys: [{ ...(await exportJWK(publicKey)), ...signing, use: 'sig' }] };
  /** Authorization requests by code challenge. */
  const requests = new Map<string, URLSearchParams>();
  /** The address of the owner of each issued token. */
  const owners = new Map<string, string>();
  const ended = new Map<string, 'all' | 'refresh'>();
  let forgery: Forgery | undefined;
  const { authorize, token, keys: keysPath, userinfo } = vendor.paths;

  async function answerToken(exchange: Exchange): Promise<Reply> {
    const form = new URLSearchParams(exchange.request.body);
    const earlier = owners.get(form.get('refresh_token') ?? '');
    if (earlier !== undefined && ended.has(earlier)) return { status: 400, body: { error: 'invalid_grant' } };
    const reply = await exchange.forward(vendor.tokenRequest?.(exchange.request) ?? exchange.request);
    if (reply.status !== 200) return reply;
    const body = JSON.parse(String(reply.body)) as Record<string, string>;
    const claims = body.id_token === undefined ? undefined : decodeJwt(body.id_token);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isSignIn = form.get('grant_type') === 'authorization_code';
    if (isSignIn && !vendor.refreshes(requests.get(challenge) ?? new URLSearchParams())) delete body.refresh_token;
    for (const [name, value] of Object.entries(body)) {
      if (issued.test(name)) owners.set(value, String(claims?.email ?? earlier));
    }
    return { status: 200, body: claims === undefined ? body : { ...body, id_token: await sign(claims) } };
  }

  async function sign(given: JWTPayload): Promise<string> {
    const { claims = {}, key = privateKey } = forgery ?? {};
    forgery = undefined;
    return new SignJWT({ ...(vendor.idToken?.(given) ?? given), ...claims }).setProtectedHeader(signing).sign(key);
  }

  async function answerUserInfo(exchange: Exchange): Promise<Reply> {
    const owner = owners.get((exchange.request.headers.authorization ?? '').replace(/^Bearer /, ''));
    if (owner === undefined || ended.get(owner) === 'all') {
      return { status: 401, headers: { 'www-authenticate': 'Bearer error="invalid_token"' }, body: '' };
    }
    const reply = await exchange.forward();
    if (reply.status !== 200) return reply;
    const claims = JSON.parse(String(reply.body)) as JWTPayload;
    return { status: 200, body: vendor.userInfo?.(claims) ?? claims };
  }

  const complete: Act = {
    name: `complete ${vendor.service}`,
    async run(exchange) {
      const { pathname, searchParams } = new URL(exchange.request.path, 'http://127.0.0.1');
      if (pathname === authorize) requests.set(searchParams.get('code_challenge') ?? '', searchParams);
      if (pathname === keysPath) return { status: 200, body: keys };
      if (pathname === token) return answerToken(exchange);
      if (pathname === userinfo) return answerUserInfo(exchange);
      return exchange.forward();
    },
  };
  const { service, seed } = vendor;
  const emulator = await startEmulator({ service, seed, complete, now: Date.now });
  return {
    url: emulator.url,
    /** Ends the tokens of a person, or only refresh tokens, so that access tokens last until they expire. */
    end: (email: string, which: 'all' | 'refresh' = 'all') => void ended.set(email, which),
    forgeNext(next: Forgery): void {
      forgery = next;
    },
    /** Calls an API of the emulator. */
    async call(method: string, path: string, headers: Record<string, string>, body?: unknown): Promise<unknown> {
      const answer = await fetch(`${emulator.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return text === '' ? undefined : JSON.parse(text);
    },
    [Symbol.asyncDispose]: () => emulator[Symbol.asyncDispose](),
  };
}

/** Returns forgeries of an ID token, each with its description. A sign-in must reject all of them. */
export async function forgeries(): Promise<[string, Forgery][]> {
  const { privateKey: key } = await foreignKeys;
  const now = Math.floor(Date.now() / 1000);
  return [
    ['for another client', { claims: { aud: 'another' } }],
    ['of another issuer', { claims: { iss: 'https://issuer.example.org' } }],
    ['that has expired', { claims: { iat: now - 7200, exp: now - 3600 } }],
    ['of another sign-in', { claims: { nonce: 'another' } }],
    ['signed with another key', { key }],
  ];
}
