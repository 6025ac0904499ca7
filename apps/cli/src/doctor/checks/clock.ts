import { describeDuration } from '../../duration.js';
import { type Check, failed, ok, skipped, warning } from '../check.js';

/** Beyond these, in milliseconds, time left is shown wrong, and logins fail. */
const noticeable = 5_000;
const harmful = 60_000;

/** This machine's clock agrees with the server's. */
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
