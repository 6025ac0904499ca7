import { stat } from 'node:fs/promises';
import { CliError } from '../../cli-error.js';
import { credentialsOf } from '../../connect.js';
import { describeTimeLeft } from '../../duration.js';
import { type Check, failed, ok, skipped, warning } from '../check.js';

/** Checks that the file with the logins is valid and that only this user can access it. */
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

/** Warn when a login expires within this time, in milliseconds. */
const soon = 10 * 60_000;

/** Checks that the server accepts the login, or `BELAY_TOKEN`. */
export const login: Check = {
  name: 'login',
  run: async ({ server, shell }) => {
    const { connection, answer } = await server();
    if (answer === undefined) return skipped('the server does not respond');
    const { client, signedIn, expiresAt } = connection;
    if (!signedIn) return warning(`not signed in to ${connection.server}`, 'sign in: belay login');
    const { isBelayError } = await import('@belay/sdk');
    try {
      const me = await client.auth.whoami({ signal: shell.signal });
      const until = me.expires_at ?? expiresAt;
      const left = Date.parse(until ?? '') - shell.clock().getTime();
      const message = `${me.email}, for ${describeTimeLeft(until, shell.clock()) ?? 'as long as the token is valid'}`;
      return left < soon ? warning(message, 'sign in again: belay login') : ok(message);
    } catch (error) {
      if (!isBelayError(error)) throw error;
      const which = shell.token === undefined ? 'the login' : 'BELAY_TOKEN';
      const cure = shell.token === undefined ? 'sign in again: belay login' : 'set it to a new one, or unset it';
      return failed(`${which} is no longer valid (${error.message})`, cure);
    }
  },
};
