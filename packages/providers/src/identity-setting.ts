import { foldAddress } from '@belay/contract/address';
import { z } from 'zod';

/**
 * How a person becomes an account of a directory: by e-mail address, by a sign-in that they have linked at one of these providers,
 * whose subject is the directory's identifier of the account, or by a table of e-mail addresses and names of accounts.
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

/** Returns the schema of a table from e-mail addresses to a system's accounts: no address in it twice, in any spelling. */
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

/**
 * Returns the one address that the table of an `identity` setting has for an account; undefined for an account that has none or
 * several (no guess), and for a setting without a table.
 */
export function addressInTable(setting: unknown, isAccount: (listed: string) => boolean): string | undefined {
  const isTable = typeof setting === 'object' && setting !== null && 'table' in setting;
  const { table } = isTable ? (setting as { table: Readonly<Record<string, string>> }) : { table: {} };
  const found = Object.entries(table).flatMap(([address, account]) => (isAccount(account) ? [address] : []));
  return found.length === 1 ? found[0] : undefined;
}

/**
 * Returns the addresses of which a template with `{email}` or `{username}` (the part before the @) can make an account's name, in the
 * domains that count for `{username}`.
 */
export function addressesBehind(name: string, template: string, domains: readonly string[] = []): string[] {
  const [before = '', after = ''] = template.split(/\{email\}|\{username\}/);
  if (!name.startsWith(before) || !name.endsWith(after)) return [];
  const middle = name.slice(before.length, name.length - after.length);
  const ends = template.includes('{email}') ? [''] : domains.map((domain) => `@${domain}`);
  return ends.map((end) => `${middle}${end}`).filter((address) => foldAddress(address) !== undefined);
}
