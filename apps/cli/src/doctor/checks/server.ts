import { describeDuration } from '../../duration.js';
import { type Check, failed, type Outcome, ok, skipped, warning } from '../check.js';

/** Returns the part of a version that must be the same on both sides: the major version, and before 1.0 the minor version too. */
function series(version: string): string {
  const [major = '', minor = ''] = version.split(/[. ]/);
  return major === '0' ? `0.${minor}` : major;
}

/** Checks that the server that commands would use responds, is ready and has a compatible version. */
export const server: Check = {
  name: 'server',
  run: async ({ server: find, shell }) => {
    const found = await find();
    if (found.answer === undefined) {
      const { connection, fault } = found;
      if (connection === undefined) return failed(fault, 'correct that first');
      // The server responded, but its response was not trusted or not understood: starting it would not help.
      const cure = /certificate|authority|https|address of Belay/.test(fault) ? 'correct that' : 'start it';
      const message = `${connection.server} (from ${connection.origin}): ${fault}`;
      return failed(message, `${cure}, or choose another: --url, BELAY_URL, belay login`);
    }
    const { connection, answer } = found;
    const at = `${connection.server} (from ${connection.origin})`;
    const outcomes: Outcome[] = [];
    if (!answer.ready) outcomes.push(failed(`${at} is not ready`, 'see the health check below and the server’s log'));
    if (series(answer.version) !== series(shell.version)) {
      const message = `${at} has version ${answer.version}, and this is version ${shell.version}`;
      outcomes.push(warning(message, 'install the same version on both sides'));
    }
    return outcomes.length > 0 ? outcomes : ok(`${at} responds, version ${answer.version}`);
  },
};

/** Checks that every service of the server is healthy. */
export const health: Check = {
  name: 'health',
  run: async ({ server }) => {
    const { answer } = await server();
    if (answer === undefined) return skipped('the server does not respond');
    const bad = Object.entries(answer.health).filter(([, state]) => !/^(healthy|not configured|local)/.test(state));
    if (bad.length === 0) return ok(answer.status);
    return bad.map(([service, state]): Outcome => {
      const cure = 'see the server’s log; on its machine: belay doctor';
      return state.startsWith('unhealthy')
        ? failed(`${service}: ${state}`, cure)
        : warning(`${service}: ${state}`, cure);
    });
  },
};

/** The differences between the clocks, in milliseconds, from which the time left is shown wrong, and from which logins fail. */
const noticeable = 5_000;
const harmful = 60_000;

/** Checks that this machine's clock agrees with the server's. */
export const clock: Check = {
  name: 'clock',
  run: async ({ server }) => {
    const { answer } = await server();
    if (answer === undefined) return skipped('the server does not respond');
    const off = Math.abs(answer.skew);
    const message = `this machine’s clock is ${describeDuration(off)} ${answer.skew > 0 ? 'ahead of' : 'behind'} the server’s`;
    const cure = 'synchronise the clock, for example with: timedatectl set-ntp true';
    if (off > harmful) return failed(message, cure);
    return off > noticeable ? warning(message, cure) : ok('matches the server’s clock');
  },
};
