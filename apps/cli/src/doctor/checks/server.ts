import { type Check, failed, type Outcome, ok, warning } from '../check.js';

/** Version numbers that should understand each other: the same major, and the same minor before 1.0. */
function series(version: string): string {
  const [major = '', minor = ''] = version.split(/[. ]/);
  return major === '0' ? `0.${minor}` : major;
}

/** The server that commands would talk to answers, is ready and of our version. */
export const server: Check = {
  name: 'server',
  run: async ({ server: find, shell }) => {
    const found = await find();
    if (found.answer === undefined) {
      const { connection, fault } = found;
      if (connection === undefined) return failed(fault, 'correct that first');
      // What answered was not believed, or not understood: to start it would not help.
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
