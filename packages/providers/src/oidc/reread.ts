import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import type { ToldPerson } from '../port.js';
import { readClaims } from './claims.js';
import type { OidcConfig } from './config.js';

export interface RereadRequest {
  accessToken: string;
  subject: string;
  /** The claims of a new ID token, if the provider sent one. */
  idToken?: client.IDToken | undefined;
  /** The ID token of the sign-in, which was verified then. */
  earlier?: string | undefined;
}

type Claims = Record<string, unknown>;

/**
 * Returns the person as the issuer describes them now: by a complete new ID token, otherwise by the userinfo endpoint
 * and the other claims of the earlier ID token. Returns undefined without both, and without an address. Also returns
 * undefined when the userinfo endpoint lacks groups or organizations that the earlier ID token contained, because then
 * it is unknown which of them the person still has.
 */
export async function rereadClaims(
  config: OidcConfig,
  configuration: client.Configuration,
  { accessToken, subject, idToken, earlier }: RereadRequest,
): Promise<ToldPerson | undefined> {
  const asks = configuration.serverMetadata().userinfo_endpoint !== undefined;
  const userInfo: Claims = asks ? await client.fetchUserInfo(configuration, accessToken, subject) : {};
  const before: Claims | undefined = earlier === undefined ? undefined : decodeJwt(earlier);
  const whole = idToken !== undefined && isWhole(idToken, before);
  if (whole) return readClaims(idToken, userInfo, config);
  if (!asks) return undefined;
  const rest: Claims = { ...before };
  for (const claim of [config.groups_claim, config.organizations_claim ?? config.groups_claim]) {
    if (rest[claim] !== undefined && userInfo[claim] === undefined) return undefined;
    delete rest[claim];
  }
  if (typeof userInfo.email !== 'string' && typeof rest.email !== 'string') return undefined;
  return readClaims({ ...rest, sub: subject }, userInfo, config);
}

/**
 * Returns whether a new ID token contains the address and the names that the one of the sign-in contained; it may omit
 * them (OpenID Connect Core, 12.2). Without an earlier ID token, the address is sufficient.
 */
function isWhole(idToken: Claims, before: Claims | undefined): boolean {
  const told = ['email', 'name', 'preferred_username'].filter((claim) => before?.[claim] !== undefined);
  if (before === undefined) return idToken.email !== undefined;
  return told.every((claim) => idToken[claim] !== undefined);
}
