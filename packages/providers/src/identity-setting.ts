import { z } from 'zod';
import { addressTable } from './address-table.js';

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
