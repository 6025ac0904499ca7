import { z } from 'zod';
import { Terminal } from '../errors.js';
import { path } from '../http/client.js';
import { type Api, renamed } from './api.js';

export const accountSchema = z.object({ id: z.int(), login: z.string().min(1) });
export type Account = z.infer<typeof accountSchema>;

const membershipSchema = z.object({
  state: z.string(),
  role: z.string(),
  user: z.object({ id: z.int() }).nullable(),
});

/** Looks up accounts by GitHub's numbers. Logins are read again each time: they can be renamed, and used again by other people. */
export interface People {
  /** Returns the account, or null when there is none. */
  read(user: number, signal: AbortSignal): Promise<Account | null>;
  /**
   * Returns the account of an active member who is not an owner. Throws `Terminal` for any other: an invitation is not
   * a membership, and owners have standing access. Throws `Retryable` when the login changes meanwhile.
   */
  requireMember(user: number, signal: AbortSignal): Promise<Account>;
  /**
   * Throws `Retryable` when the account is gone or has another login: calls with the earlier login may have reached
   * another person's account.
   */
  confirmLogin(account: Account, signal: AbortSignal): Promise<void>;
}

export function createPeople(api: Api): People {
  const read = (user: number, signal: AbortSignal) =>
    api.find({ method: 'GET', path: path`/user/${user}`, schema: accountSchema }, signal);

  return {
    read,

    async requireMember(user, signal) {
      const { at } = await api.organization(signal);
      const account = await read(user, signal);
      if (!account) throw new Terminal('The GitHub account does not exist');
      const membership = await api.find(
        { method: 'GET', path: at + path`/memberships/${account.login}`, schema: membershipSchema },
        signal,
      );
      if (membership?.state !== 'active') {
        throw new Terminal('The GitHub account is not an active member of the organization');
      }
      if (membership.user?.id !== user) throw renamed(path`/user/${user}`);
      if (membership.role === 'admin') {
        throw new Terminal('The GitHub account is an owner of the organization, who has access without a request');
      }
      return account;
    },

    async confirmLogin(account, signal) {
      const now = await read(account.id, signal);
      if (now?.login !== account.login) throw renamed(path`/user/${account.id}`);
    },
  };
}
