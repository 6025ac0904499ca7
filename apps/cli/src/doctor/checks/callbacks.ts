import { type Check, noServerHere, type Outcome, ok, skipped, warning } from '../check.js';

/** The addresses that a login may return to keep its code to themselves. */
export const callbacks: Check = {
  name: 'callbacks',
  run: async ({ local, diagnosis }) => {
    if ((await local()) === undefined) return noServerHere;
    const found = await diagnosis.configuration();
    if (found === undefined) return skipped('no configuration found');
    if (!found.inspection.ok) return skipped('the configuration is not valid');
    const { callbacks: allowed } = found.inspection;
    const open = allowed.filter((callback) => !/^https:|^http:\/\/(localhost|127\.|\[::1\])/.test(callback));
    if (open.length > 0) {
      return open.map(
        (callback): Outcome => warning(`server.callbacks contains ${callback}, which is not encrypted`, 'use https'),
      );
    }
    return ok(`${allowed.length} in addition to loopback and the server’s own`);
  },
};
