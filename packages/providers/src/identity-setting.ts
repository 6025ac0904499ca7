import { foldAddress } from '@belay/contract/address';
import { z } from 'zod';
import type { ProviderIdentity } from './port.js';

/**
 * How a person maps to an account of a directory: by e-mail address, by a linked sign-in at one of the listed providers
 * whose subject is the directory's identifier of the account, or by a table from e-mail addresses to names of accounts.
 */
export const identitySetting = z
  .union(
    [
      z.literal('email'),
      z.strictObject({ login: z.array(z.string().min(1)).min(1) }),
      z.strictObject({ table: addressTable(z.string().min(1)) }),
    ],
    { error: 'must be email, {login: [sign-in provider, …]} or {table: {e-mail address: account, …}}' },
  )
  .default('email');

/** Returns the schema of a table from e-mail addresses to a system's accounts. No address may occur twice, in any spelling. */
export function addressTable<T extends z.ZodType>(account: T) {
  return z.record(z.string(), account).superRefine((people, context) => {
    const seen = new Set<string>();
    for (const address of Object.keys(people)) {
      const folded = foldAddress(address);
      const message =
        folded === undefined
          ? 'is not an e-mail address in canonical form, for example rita@example.com'
          : 'contains the same e-mail address twice';
      if (folded === undefined || seen.has(folded)) context.addIssue({ code: 'custom', path: [address], message });
      else seen.add(folded);
    }
  });
}

/** Returns the addresses that the table of an `identity` setting has for an account; empty without a table. */
export function addressesInTable<T>(setting: unknown, isAccount: (listed: T) => boolean): string[] {
  const isTable = typeof setting === 'object' && setting !== null && 'table' in setting;
  const { table } = isTable ? (setting as { table: Readonly<Record<string, T>> }) : { table: {} };
  return Object.entries(table).flatMap(([address, account]) => (isAccount(account) ? [address] : []));
}

/** Returns the sign-ins that an `identity` setting maps to the account with this subject; undefined without `login`. */
function loginsIn(setting: unknown, subject: string): ProviderIdentity['logins'] {
  const isLogin = typeof setting === 'object' && setting !== null && 'login' in setting;
  return isLogin ? (setting as { login: string[] }).login.map((provider) => ({ provider, subject })) : undefined;
}

/**
 * Returns an account with all its addresses and sign-ins. `configured` are its addresses in the configuration: a single one
 * replaces the provider's `email`; several do not, because choosing one would be a guess. `told` are all further addresses.
 * `subject` is the account's identifier in sign-ins, for a setting with `login`.
 */
export function describeAccount(
  account: ProviderIdentity,
  known: { configured: readonly string[]; told?: readonly string[]; identity?: unknown; subject?: string },
): ProviderIdentity {
  const { configured, told = [], identity, subject } = known;
  const [only] = configured;
  const email = configured.length === 1 && only !== undefined ? only : account.email;
  const others = [...new Set([...configured, ...told])].filter(
    (one) => one !== email && foldAddress(one) !== undefined,
  );
  const logins = subject === undefined ? undefined : loginsIn(identity, subject);
  return { ...account, email, ...(others.length === 0 ? {} : { addresses: others }), ...(logins ? { logins } : {}) };
}

/**
 * Returns the e-mail addresses that a template with `{email}` or `{username}` (the part before the @) turns into this account name.
 * For `{username}`, there is one address in each of `domains`.
 */
export function addressesBehind(name: string, template: string, domains: readonly string[] = []): string[] {
  const [before = '', after = ''] = template.split(/\{email\}|\{username\}/);
  if (!name.startsWith(before) || !name.endsWith(after)) return [];
  const middle = name.slice(before.length, name.length - after.length);
  const ends = template.includes('{email}') ? [''] : domains.map((domain) => `@${domain}`);
  return ends.map((end) => `${middle}${end}`).filter((address) => foldAddress(address) !== undefined);
}
