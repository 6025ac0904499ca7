import { type Check, failed, noServerHere, type Outcome, ok, skipped, warning } from '../check.js';

/** Checks that the configuration is valid, as `belay validate` does. */
export const configuration: Check = {
  name: 'configuration',
  run: async ({ local, diagnosis }) => {
    if ((await local()) === undefined) return noServerHere;
    const found = await diagnosis.configuration();
    if (found === undefined)
      return warning('none found; the server needs one to start', 'write belay.yaml, or start the demo with npm start');
    const { source, inspection } = found;
    if (inspection.ok) return ok(`${source} is valid`);
    return inspection.messages.map(
      (message): Outcome => failed(message, `correct it and run: belay validate ${source}`),
    );
  },
};

/** Checks that the addresses to which a login may return are encrypted or local, so that its code cannot be read on the way. */
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

/** Checks that every provider of the configuration responds, and can grant what the configuration offers there. */
export const providers: Check = {
  name: 'providers',
  run: async ({ local, diagnosis }) => {
    if ((await local()) === undefined) return noServerHere;
    const found = await diagnosis.configuration();
    if (found === undefined) return skipped('no configuration found');
    if (!found.inspection.ok) return skipped('the configuration is not valid');
    const outcomes = found.inspection.providers.flatMap(
      ({ provider, type, fault, weaknesses, obstacles }): Outcome[] => {
        const which = `${provider} (${type})`;
        if (fault !== undefined)
          return [failed(`${which}: ${fault}`, `start it, or correct providers.${provider}.config`)];
        return [
          ok(`${which} responds`),
          ...obstacles.map(({ message, cure, roles }) =>
            failed(`${which}: ${nameRoles(roles)} would be approved and not granted: ${message}`, cure),
          ),
          ...weaknesses.map(({ message, cure }) => warning(`${which}: ${message}`, cure)),
        ];
      },
    );
    return outcomes.length > 0 ? outcomes : skipped('none configured');
  },
};

/** How many roles a message names; the configuration has all of them. */
const named = 5;

function nameRoles(roles: readonly string[]): string {
  const more = roles.length > named ? ` and ${roles.length - named} more` : '';
  return `${roles.slice(0, named).join(', ')}${more}`;
}
