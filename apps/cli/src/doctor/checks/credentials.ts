import { stat } from 'node:fs/promises';
import { CliError } from '../../cli-error.js';
import { credentialsOf } from '../../connect.js';
import { type Check, failed, ok, skipped } from '../check.js';

/** The file with the logins is ours alone, and whole. */
export const credentials: Check = {
  name: 'credentials',
  run: async ({ shell }) => {
    try {
      const server = await credentialsOf(shell).defaultServer();
      const there = await stat(shell.credentialsFile).catch(() => undefined);
      if (there === undefined) return skipped('no sign-in on this machine yet');
      return ok(`${shell.credentialsFile}, for ${server ?? 'no server'} by default`);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      const [message = '', cure = 'sign in again: belay login'] = error.message.split('; ');
      return failed(message, cure);
    }
  },
};
