import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { Retryable, Terminal } from '../errors.js';
import type { ToldLogout } from '../port.js';

const event = 'http://schemas.openid.net/event/backchannel-logout';
/** Asymmetric algorithms only: with the symmetric ones, any program that knows the client secret could sign. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const requestMilliseconds = 10_000;
/**
 * The largest difference between the clocks of the issuer and this machine, and the longest delivery of a token, in
 * seconds.
 */
const clockSeconds = 30;
const oldestSeconds = 3600;

const keySets = new Map<string, JWTVerifyGetKey>();

/** Returns the issuer's keys, which are fetched when first needed and when a key is unknown. */
function keysAt(address: string): JWTVerifyGetKey {
  const known = keySets.get(address) ?? createRemoteJWKSet(new URL(address), { timeoutDuration: requestMilliseconds });
  keySets.set(address, known);
  return known;
}

/**
 * Verifies a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6) and returns its content. Throws `Terminal`
 * when it is not valid and `Retryable` when the issuer's keys cannot be fetched.
 */
export async function readLogoutToken(
  token: string,
  expected: { issuer: string; clientId: string; keys: string; now: Date },
): Promise<ToldLogout> {
  const { payload, protectedHeader } = await jwtVerify(token, keysAt(expected.keys), {
    issuer: expected.issuer,
    audience: expected.clientId,
    algorithms,
    currentDate: expected.now,
    clockTolerance: clockSeconds,
    maxTokenAge: oldestSeconds,
    requiredClaims: ['iat', 'exp', 'jti', 'events'],
  }).catch((error: unknown) => {
    throw toFault(error);
  });
  const { typ } = protectedHeader;
  const { jti, iat = 0, sub, sid, events } = payload;
  const said = isObject(events) ? events[event] : undefined;
  const named = [sub, sid].filter((one) => one !== undefined);
  const holds =
    (typ === undefined || ['logout+jwt', 'application/logout+jwt', 'jwt'].includes(typ.toLowerCase())) &&
    isObject(said) &&
    // An ID token has a nonce: one kind of token must not be accepted as the other.
    !('nonce' in payload) &&
    typeof jti === 'string' &&
    jti !== '' &&
    named.length > 0 &&
    named.every((one) => typeof one === 'string' && one !== '');
  if (!holds) throw new Terminal('The logout token is not valid');
  return {
    id: jti,
    ...(typeof sub === 'string' ? { subject: sub } : {}),
    ...(typeof sid === 'string' ? { sid } : {}),
    until: new Date((iat + oldestSeconds + clockSeconds) * 1000),
  };
}

function toFault(cause: unknown): Retryable | Terminal {
  const unreachable =
    cause instanceof errors.JWKSTimeout || !(cause instanceof errors.JOSEError) || cause.code === 'ERR_JOSE_GENERIC';
  return unreachable
    ? new Retryable('The keys of the identity provider cannot be fetched', { cause })
    : new Terminal('The logout token is not valid', { cause });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
