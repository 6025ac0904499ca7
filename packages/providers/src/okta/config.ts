import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import { durationSetting } from '../duration.js';
import { emailDomain, endpoint } from '../endpoint.js';
import { identitySetting } from '../identity-setting.js';

const url = endpoint
  .refine((text) => !/^https:\/\/[^/]*-admin\.okta/.test(text), {
    message: 'must be the address of the organization, not of its Admin Console: leave out -admin',
  })
  .refine((text) => /^https?:\/\/[^/?]+\/?$/.test(text), {
    message: 'must have no path and no query, for example https://acme.okta.com',
  });

const name = z.string().min(1).max(255);

/** The configuration of a provider of type `okta`. */
export const oktaConfig = z.strictObject({
  /** The address of the organization: `https://acme.okta.com`, or its own domain. */
  url,
  /** The client ID of the service app. */
  client_id: z.string().regex(/^[A-Za-z0-9_-]{1,100}$/, 'is not a client ID, for example 0oa1b2c3d4E5F6g7H8i9'),
  /** The private key of the service app, in PEM form. */
  private_key: z.string().refine((text) => algorithmOf(text) !== undefined, {
    message: 'must be a private key in PEM form: RSA with 2048 bits or more, or EC on the curve P-256',
  }),
  /** The key's ID at Okta, needed when the service app has several keys. */
  key_id: z.string().min(1).optional(),
  /**
   * How a person maps to an Okta user: by e-mail address, by a table of e-mail addresses and logins, or by a linked sign-in at one
   * of these providers, whose subject is the user's identifier at Okta.
   */
  identity: identitySetting,
  /** With `identity: email`, the domains whose addresses count; all domains when absent. */
  email_domains: z.array(emailDomain).min(1).optional(),
  /** Groups that only Belay fills: the drift audit lists all of their members. */
  exclusive: z.array(name).default([]),
  /** Permits groups whose members are administrators of Okta. */
  allow_privileged_groups: z.boolean().default(false),
  /** A revocation ends the person's sessions at Okta and revokes their tokens: the person is signed out everywhere. */
  end_sessions: z.boolean().default(false),
  /** How long applications may act on a membership that has ended. */
  residual: durationSetting('PT1H').default('PT1H'),
});

export type OktaConfig = z.infer<typeof oktaConfig>;

/** Returns the signature algorithm of a key (RFC 7518, 3.1), or undefined for a key that Okta does not accept. */
export function algorithmOf(privateKey: string): 'RS256' | 'ES256' | undefined {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(privateKey);
    if (asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= 2048) return 'RS256';
    return asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1' ? 'ES256' : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the OAuth scopes that the connector requests. */
export function scopesOf(config: OktaConfig): string[] {
  return [
    'okta.groups.manage',
    config.end_sessions ? 'okta.users.manage' : 'okta.users.read',
    ...(config.allow_privileged_groups ? [] : ['okta.roles.read']),
  ];
}
