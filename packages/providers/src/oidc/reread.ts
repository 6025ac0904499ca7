import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import type { ToldPerson } from '../port.js';
import { readClaims } from './claims.js';
import type { OidcConfig } from './config.js';

export interface RereadRequest {
  accessToken: string;
  subject: string;
  /** The claims of a new ID token, where the provider gave one. */
  idToken?: client.IDToken | undefined;
  /** The ID token of the sign-in, verified then. */
  earlier?: string | undefined;
}

type Claims = Record<string, unknown>;

/**
 * Returns the person as the issuer tells of them now, by a new ID token and the userinfo endpoint. Undefined when it does
 * not tell the groups where it told them at the sign-in: silence about them must not be read as "in none", nor as "as before".
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
  if (whole) return readClaims(idToken, userInfo, config.groups_claim);
  if (!asks) return undefined;
  const { [config.groups_claim]: groupsBefore, ...rest } = before ?? {};
  if (groupsBefore !== undefined && userInfo[config.groups_claim] === undefined) return undefined;
  if (typeof userInfo.email !== 'string' && typeof rest.email !== 'string') return undefined;
  return readClaims({ ...rest, sub: subject }, userInfo, config.groups_claim);
}

/** Whether a new ID token tells of the person as that of the sign-in did: it may leave all out (OpenID Connect Core, 12.2). */
function isWhole(idToken: Claims, before: Claims | undefined): boolean {
  const told = ['email', 'name', 'preferred_username'].filter((claim) => before?.[claim] !== undefined);
  if (before === undefined) return idToken.email !== undefined;
  return told.every((claim) => idToken[claim] !== undefined);
}
