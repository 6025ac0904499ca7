import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import { endpoint } from '../endpoint.js';
import { addressTable } from '../identity-setting.js';
import { isExclusive } from './access.js';

const identifier = z
  .union([z.int().positive(), z.string().regex(/^[1-9]\d{0,15}$/, 'must be a number')], { error: 'must be a number' })
  .transform((value) => Number(value));

const appId = "must be the App's ID or client ID";

/** The configuration of a provider of type `github`. */
export const githubConfig = z.strictObject({
  /** The address of the REST API: `https://<host>/api/v3` of a GitHub Enterprise Server. */
  url: endpoint.default('https://api.github.com'),
  /** The App's identifier, or its client ID. */
  app_id: z
    .union([z.int().positive(), z.string().regex(/^(\d{1,15}|Iv[\w.]{1,60})$/, appId)], { error: appId })
    .transform(String),
  /** The App's installation in the organization: the number at the end of the address of its settings page. */
  installation_id: identifier,
  /** The App's private key, in PEM form as GitHub gives it out. */
  private_key: z.string().refine(isRsaKey, 'must be an RSA private key in PEM form'),
  /**
   * How a person maps to a GitHub account: by a sign-in that they have linked at one of these providers, whose subject is GitHub's
   * number of the account, or by a table of e-mail addresses and numbers.
   */
  identity: z.union(
    [z.strictObject({ login: z.array(z.string().min(1)).min(1) }), z.strictObject({ table: addressTable(identifier) })],
    { error: "must be {login: [sign-in provider, …]} or {table: {e-mail address: GitHub's number, …}}" },
  ),
  /** Teams, organization roles and repositories that only Belay grants: the drift audit lists all of their members. */
  exclusive: z
    .array(z.string().refine(isExclusive, 'must be team/<slug>, org-role/<name> or <owner>/<repository>'))
    .default([]),
  /**
   * Repositories, by number, that were deleted while access was held. In any other repository that the App cannot see,
   * a revocation fails and is tried again.
   */
  deleted_repositories: z.array(identifier).default([]),
  /** Permits roles with which a holder can give access to others, or keep it. */
  allow_privileged_roles: z.boolean().default(false),
});

export type GithubConfig = z.infer<typeof githubConfig>;

function isRsaKey(text: string): boolean {
  try {
    return createPrivateKey(text).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}
