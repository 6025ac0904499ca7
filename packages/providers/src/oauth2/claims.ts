import { isInDomains } from '@belay/contract/address';
import { z } from 'zod';
import { Terminal } from '../errors.js';
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
/** Some number their groups: a number is as good as a text, and cannot be renamed. */
const groupName = z.union([z.string(), z.int().transform(String)]);
const groupNames = z.union([z.array(groupName), z.string().transform((one) => [one])]);

/** The person that a provider's own endpoints tell of. Throws `Terminal` when they do not tell enough. */
export function readPerson(config: OAuth2Config, told: Told): Person {
  const { claims } = config;
  const { email, emailVerified } = config.emails_endpoint === undefined ? claimed(config, told) : listed(told.emails);
  const name = claims.name.map((field) => text(at(told.userInfo, field))).find((one) => one !== undefined);
  return {
    subject: readSubject(config, told.userInfo),
    email,
    emailVerified,
    name: name ?? email,
    groups: groupsOf(config, told),
    ...(config.organizations_endpoint === undefined
      ? {}
      : { organizations: listedNames(told.organizations, config.organizations_field) }),
  };
}

/** Who the userinfo endpoint says the person is. Some count their people: a number is as good as a text. */
function readSubject(config: OAuth2Config, userInfo: unknown): string {
  const value = at(userInfo, config.claims.subject);
  const subject = Number.isSafeInteger(value) ? String(value) : text(value);
  if (subject === undefined) throw new Terminal('The identity provider returned no subject for the person');
  return subject;
}

/** One address beside the claims: what the provider says of it, and of no other, is whether it is verified. */
function claimed(config: OAuth2Config, { userInfo }: Told) {
  const email = text(at(userInfo, config.claims.email));
  if (email === undefined) throw noAddress();
  const said = at(userInfo, config.claims.email_verified);
  return { email, emailVerified: said === true || said === 'true' || isInDomains(email, config.email_domains ?? []) };
}

/** The primary address, and no other in its place when it is not verified: the person is to put that right there. */
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

/** What an endpoint lists, one object for each. */
function listedNames(listed: unknown, name: string): string[] {
  return namesIn(Array.isArray(listed) && listed.map((one: unknown) => at(one, name)));
}

function namesIn(given: unknown): string[] {
  const names = groupNames.safeParse(given);
  if (!names.success)
    throw new Terminal('The identity provider returned the groups of the person in an unsupported form');
  return [...new Set(names.data)];
}

function noAddress(): Terminal {
  return new Terminal('The identity provider returned no e-mail address for the person');
}

/** What a dotted name leads to; own fields only. */
function at(value: unknown, field: string): unknown {
  return field.split('.').reduce<unknown>((inner, name) => {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, name)) return undefined;
    return (inner as Record<string, unknown>)[name];
  }, value);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
