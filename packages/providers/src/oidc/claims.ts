import { isInDomains } from '@belay/contract/address';
import { z } from 'zod';
import { AboutPerson, Terminal } from '../errors.js';
import type { Authenticated } from '../port.js';
import type { OidcConfig } from './config.js';

type Claims = { [claim: string]: unknown };

/** Some issuers send a boolean as text. */
const verified = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]).catch(false);
const groups = z.union([z.array(z.string()), z.string().transform((one) => [one])]);

/**
 * Returns the person that the claims describe; those of the userinfo endpoint take precedence over the ID token's. Throws
 * `Terminal` when they are not sufficient (OpenID Connect Core 5.1, 5.3.2).
 */
export function readClaims(
  idToken: Claims,
  userInfo: Claims,
  config: Pick<OidcConfig, 'groups_claim' | 'organizations_claim' | 'email_domains'>,
): Omit<Authenticated, 'tokens' | 'endsAt'> {
  const subject = text(idToken.sub);
  if (subject === undefined) throw new Terminal('The identity provider returned no subject for the person');
  // An address and its verification belong together: neither source may vouch for the other's address.
  const source = text(userInfo.email) === undefined ? idToken : userInfo;
  const email = text(source.email);
  if (email === undefined) throw new AboutPerson('The identity provider returned no e-mail address for the person');
  const name = [userInfo.name, idToken.name, userInfo.preferred_username, idToken.preferred_username].map(text);
  const listed = (claim: string) => {
    const names = groups.safeParse(userInfo[claim] ?? idToken[claim] ?? []);
    if (!names.success)
      throw new Terminal('The identity provider returned the groups of the person in an unsupported form');
    return [...new Set(names.data)];
  };
  const claims = [config.groups_claim, config.organizations_claim ?? config.groups_claim];
  const leftOut = claims.some((claim) => userInfo[claim] === undefined && isLeftOut(claim, idToken));
  return {
    subject,
    email,
    emailVerified:
      verified.parse(source.email_verified ?? false) ||
      (isInDomains(email, config.email_domains ?? []) && ![userInfo, idToken].some(isRefuted)),
    name: name.find((one) => one !== undefined) ?? email,
    groups: listed(config.groups_claim),
    ...(config.organizations_claim === undefined ? {} : { organizations: listed(config.organizations_claim) }),
    ...(leftOut ? { groupsLeftOut: true } : {}),
  };
}

/**
 * Returns whether an ID token says that a claim is to be fetched elsewhere (OpenID Connect Core, 5.6.2), as Microsoft Entra ID
 * does for a person in more than 200 groups; `hasgroups` is its other way to say so.
 */
function isLeftOut(claim: string, idToken: Claims): boolean {
  if (idToken[claim] !== undefined) return false;
  const { _claim_names: elsewhere, hasgroups } = idToken;
  const named = typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, claim);
  return named || (claim === 'groups' && String(hasgroups) === 'true');
}

/** Returns whether an issuer states that it has not verified an address, which the operator's list does not override. */
function isRefuted({ email_verified: said }: Claims): boolean {
  return said !== undefined && !verified.parse(said);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
