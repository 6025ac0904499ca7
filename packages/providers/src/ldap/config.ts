import { foldAddress } from '@belay/contract/address';
import { z } from 'zod';
import { durationSetting } from '../duration.js';
import { emailDomain, isLoopback } from '../endpoint.js';

const url = z.string().refine(isServerUrl, {
  message: 'must be ldaps://<host>:<port> or ldap://<host>:<port>, without credentials, path or query',
});

const dn = z.string().regex(/^[A-Za-z][\w.;-]*\s*=\s*[^\s<].*$/s, {
  message: 'is not a distinguished name, for example ou=people,dc=example,dc=com',
});

const attribute = z.string().regex(/^[A-Za-z][A-Za-z0-9-]*$/, 'is not the name of an attribute');

const filter = z.string().refine(isFilter, { message: 'is not an LDAP filter, for example (objectClass=person)' });

const duration = durationSetting('PT10H');

const table = z.record(z.string(), z.string().min(1)).superRefine((people, context) => {
  for (const address of Object.keys(people)) {
    if (foldAddress(address) === address) continue;
    const message = 'is not an e-mail address in canonical form, for example rita@example.com';
    context.addIssue({ code: 'custom', path: [address], message });
  }
});

/** The configuration of a provider of type `ldap`. */
export const ldapConfig = z
  .strictObject({
    url,
    directory: z.enum(['openldap', 'active_directory']),
    /** Encrypts a connection to `ldap://` by StartTLS before the connector signs in. */
    start_tls: z.boolean().default(false),
    /**
     * OpenLDAP: permits `ldap://` without TLS on the loopback interface. No other connection without TLS is ever
     * permitted.
     */
    allow_plain_text: z.boolean().default(false),
    /** PEM: the authority that signs the server's certificate, where it is not a public one. */
    ca: z.string().includes('-----BEGIN CERTIFICATE-----').optional(),
    /** The name in the server's certificate, where the address has another one. */
    server_name: z
      .string()
      .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*$/i, 'is not a host name')
      .optional(),
    bind_dn: dn,
    // With an empty password, a server treats the bind as anonymous and reports success.
    password: z.string().min(1),
    people_base: dn,
    people_filter: filter.optional(),
    groups_base: dn,
    /** The attribute that contains a person's login; `uid`, and `sAMAccountName` in Active Directory. */
    login_attribute: attribute.optional(),
    email_attribute: attribute.default('mail'),
    /** The attribute of a group that lists its members by their distinguished names. */
    member_attribute: z.enum(['member', 'uniqueMember']).default('member'),
    /** How a person maps to an entry: by e-mail address, by the part before the @, or a table of addresses and logins. */
    identity: z
      .union([z.enum(['email', 'username']), z.strictObject({ table })], {
        error: 'must be email, username or {table: {e-mail address: login, …}}',
      })
      .default('email'),
    email_domains: z.array(emailDomain).min(1).optional(),
    /** Groups that only Belay grants: the drift audit lists all of their members. */
    exclusive: z.array(z.string().min(1)).default([]),
    /** Permits groups that Active Directory protects, and groups that are nested in one. */
    allow_privileged_groups: z.boolean().default(false),
    /** OpenLDAP: the refint overlay updates the members of groups when entries are renamed or deleted. */
    referential_integrity: z.boolean().default(false),
    /** OpenLDAP: the entry that takes the place of the last member, where a group may not be empty. */
    placeholder_member: dn.optional(),
    /** Active Directory: memberships have a time to live, where the forest has the feature for it. */
    member_ttl: z.boolean().default(false),
    /** How long applications may use a membership that has ended; PT0S unless set, and PT10H with Active Directory. */
    residual: duration.optional(),
  })
  .superRefine((config, context) => {
    if (!isServerUrl(config.url)) return;
    const { protocol } = readUrl(config.url);
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if (protocol === 'ldaps:' && config.start_tls) {
      refuse('start_tls', 'is for ldap:// addresses; ldaps:// is encrypted from the beginning');
    }
    if (protocol === 'ldap:' && !config.start_tls && !mayBePlain(config)) {
      refuse('url', 'must be ldaps://, or ldap:// with start_tls: true');
    }
    if (config.identity === 'username' && !config.email_domains) {
      refuse(
        'email_domains',
        'is required with identity: username, because the part before the @ can repeat in other domains; list the domains of your people, for example [example.com]',
      );
    }
    if (config.directory === 'openldap') {
      if (config.member_ttl)
        refuse('member_ttl', 'is for directory: active_directory; OpenLDAP has no such memberships');
      return;
    }
    for (const key of ['referential_integrity', 'placeholder_member'] as const) {
      if (config[key]) refuse(key, 'is for directory: openldap; Active Directory needs no such setting');
    }
    if (config.member_attribute !== 'member') refuse('member_attribute', 'must be member in Active Directory');
  });

export type LdapConfig = z.infer<typeof ldapConfig>;

/** The access of this connector: direct membership of a group, by the group's name. */
export const membership = z.strictObject({ group: z.string().min(1) });

/** Returns the address of the server and the bases of people and groups, without the account and its password. */
export function addressOf({ url, people_base, groups_base }: LdapConfig) {
  return { url: readUrl(url).href, people: people_base, groups: groups_base };
}

/** Returns the names and defaults that differ between the two kinds of server. */
export function dialectOf(config: LdapConfig) {
  const active = config.directory === 'active_directory';
  return {
    active,
    id: active ? 'objectGUID' : 'entryUUID',
    login: config.login_attribute ?? (active ? 'sAMAccountName' : 'uid'),
    people: config.people_filter ?? (active ? '(&(objectCategory=person)(objectClass=user))' : '(objectClass=person)'),
    groupClasses: active ? ['group'] : ['groupOfNames', 'groupOfUniqueNames', 'groupOfMembers', 'groupOfURLs'],
    residual: config.residual ?? (active ? 'PT10H' : 'PT0S'),
  };
}

/** Returns the parts of an LDAP URL. It is parsed as `http:`, because hosts of other schemes are not converted to lower case. */
export function readUrl(text: string): {
  protocol: string;
  host: string;
  port: number;
  href: string;
  loopback: boolean;
} {
  const [, protocol = '', rest = ''] = /^(ldaps?:)\/\/(.*)$/.exec(text) ?? [];
  const { hostname, port } = new URL(`http://${rest}`);
  const number = Number(port || (rest.replace(/\/$/, '').endsWith(':80') ? 80 : protocol === 'ldaps:' ? 636 : 389));
  return {
    protocol,
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: number,
    href: `${protocol}//${hostname}:${number}`,
    loopback: isLoopback(new URL(`http://${rest}`)),
  };
}

function isServerUrl(text: string): boolean {
  const [, rest = ''] = /^ldaps?:\/\/(.+)$/.exec(text) ?? [];
  if (!URL.canParse(`http://${rest}`)) return false;
  const { username, password, pathname, search, hash } = new URL(`http://${rest}`);
  return pathname === '/' && ![username, password, search, hash].some(Boolean);
}

function mayBePlain({
  url,
  directory,
  allow_plain_text,
}: {
  url: string;
  directory: string;
  allow_plain_text: boolean;
}) {
  return allow_plain_text && directory === 'openldap' && readUrl(url).loopback;
}

/** Returns whether matching parentheses enclose the text. The library finds other errors when the provider is checked. */
function isFilter(text: string): boolean {
  let depth = 0;
  const letters = Array.from(text.replace(/\\[\da-f]{2}/gi, ''));
  for (const [index, letter] of letters.entries()) {
    if (letter === '(') depth += 1;
    if (letter === ')') depth -= 1;
    if (depth === 0 && index < letters.length - 1) return false;
  }
  return depth === 0 && text.startsWith('(');
}
