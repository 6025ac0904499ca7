import { isInDomains } from '@belay/contract/address';
import { z } from 'zod';
import { AboutPerson, Terminal } from '../errors.js';
import type { Authenticated } from '../port.js';
import type { OAuth2Config } from './config.js';

export interface Told {
  userInfo: unknown;
  emails?: unknown;
  groups?: unknown;
  organizations?: unknown;
}

type Person = Pick<Authenticated, 'subject' | 'email' | 'emailVerified' | 'name' | 'groups' | 'organizations'>;

const address = z.object({
  email: z.string().min(1),
  primary: z.boolean().catch(false),
  verified: z.boolean().catch(false),
});
/** Some providers number their groups: a number works like a text, and cannot be renamed. */
const groupName = z.union([z.string(), z.int().transform(String)]);
const groupNames = z.union([z.array(groupName), z.string().transform((one) => [one])]);

/** Returns the person that a provider's endpoints describe. Throws `Terminal` when they do not return enough. */
export function readPerson(config: OAuth2Config, told: Told): Person {
  const { claims } = config;
  // Read first: a response without a subject is not about the person, even if it also has no address.
  const subject = readSubject(config, told.userInfo);
  const { email, emailVerified } = config.emails_endpoint === undefined ? claimed(config, told) : listed(told.emails);
  const name = claims.name.map((field) => text(at(told.userInfo, field))).find((one) => one !== undefined);
  return {
    subject,
    email,
    emailVerified,
    name: name ?? email,
    groups: groupsOf(config, told),
    ...(config.organizations_endpoint === undefined
      ? {}
      : { organizations: listedNames(told.organizations, config.organizations_field) }),
  };
}

/** Returns the subject from the userinfo endpoint. Some providers number their users: a number works like a text. */
function readSubject(config: OAuth2Config, userInfo: unknown): string {
  const value = at(userInfo, config.claims.subject);
  const subject = Number.isSafeInteger(value) ? String(value) : text(value);
  if (subject === undefined) throw new Terminal('The identity provider returned no subject for the person');
  return subject;
}

/**
 * Returns the address from the claims. It is verified when the provider states so, or when its domain is in
 * `email_domains`.
 */
function claimed(config: OAuth2Config, { userInfo }: Told) {
  const email = text(at(userInfo, config.claims.email));
  if (email === undefined) throw noAddress();
  const said = at(userInfo, config.claims.email_verified);
  return { email, emailVerified: said === true || said === 'true' || isInDomains(email, config.email_domains ?? []) };
}

/** Returns the primary address, and no other one when it is not verified: the person must verify it at the provider. */
function listed(emails: unknown) {
  const all = z.array(address).safeParse(emails);
  if (!all.success)
    throw new Terminal('The identity provider returned the e-mail addresses of the person in an unsupported form');
  const [chosen] = all.data.filter(({ primary }) => primary);
  if (chosen === undefined) throw noAddress();
  return { email: chosen.email, emailVerified: chosen.verified };
}

function groupsOf(config: OAuth2Config, { userInfo, groups }: Told): string[] {
  if (config.groups_endpoint !== undefined) return listedNames(groups, config.groups_field);
  return namesIn(at(userInfo, config.claims.groups) ?? []);
}

/** Returns the names in a list that has one object per entry. */
function listedNames(listed: unknown, name: string): string[] {
  return namesIn(Array.isArray(listed) && listed.map((one: unknown) => at(one, name)));
}

function namesIn(given: unknown): string[] {
  const names = groupNames.safeParse(given);
  if (!names.success)
    throw new Terminal('The identity provider returned the groups of the person in an unsupported form');
  return [...new Set(names.data)];
}

function noAddress(): AboutPerson {
  return new AboutPerson('The identity provider returned no e-mail address for the person');
}

/** Returns the value at a dotted name; own properties only. */
function at(value: unknown, field: string): unknown {
  return field.split('.').reduce<unknown>((inner, name) => {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, name)) return undefined;
    return (inner as Record<string, unknown>)[name];
  }, value);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
