import { isInDomains } from '@belay/contract/address';
import { Terminal } from '../errors.js';
import type { Authenticated } from '../port.js';
import type { Assertion } from './assertion.js';
import type { SamlConfig } from './config.js';

const format = (version: string, name: string) => `urn:oasis:names:tc:SAML:${version}:nameid-format:${name}`;
const transient = format('2.0', 'transient');
const emailAddress = format('1.1', 'emailAddress');
/** The attribute that Microsoft Entra ID sends instead of the groups of a person who is in more than 150 groups. */
const groupsLink = 'http://schemas.microsoft.com/claims/groups.link';

/** Returns the person that an assertion is about. Throws `Terminal` when it does not contain enough. */
export function readPerson(
  config: SamlConfig,
  { nameId, attributes }: Assertion,
): Omit<Authenticated, 'tokens' | 'endsAt'> {
  const first = (names: readonly string[]) =>
    names.map((name) => attributes.get(name) ?? []).find((values) => values.length > 0) ?? [];
  const emails = first(config.attributes.email);
  const [email, ...others] = emails.length === 0 && nameId?.format === emailAddress ? [nameId.value] : emails;
  // With several addresses, it is not certain which one belongs to the person.
  if (email === undefined || others.length > 0) {
    throw new Terminal('The identity provider must return exactly one e-mail address for the person');
  }
  const { organizations } = config.attributes;
  return {
    subject: readSubject(config, { nameId, attributes }),
    email,
    emailVerified: isInDomains(email, config.email_domains),
    name: first(config.attributes.name)[0] ?? email,
    groups: [...new Set(first(config.attributes.groups))],
    ...(attributes.has(groupsLink) ? { groupsLeftOut: true } : {}),
    ...(organizations === undefined ? {} : { organizations: [...new Set(first(organizations))] }),
  };
}

function readSubject(config: SamlConfig, { nameId, attributes }: Pick<Assertion, 'nameId' | 'attributes'>): string {
  const named = config.attributes.subject;
  const values = named === undefined ? [] : (attributes.get(named) ?? []);
  if (values.length === 1 && values[0] !== undefined) return values[0];
  // A transient name differs at each sign-in, so the person would never be recognised.
  if (named !== undefined || nameId === undefined || nameId.format === transient) {
    throw new Terminal('The identity provider returned no persistent name identifier for the person');
  }
  return nameId.value;
}
