import { type Check, failed, noServerHere, type Outcome, ok, skipped, warning } from '../check.js';

/** Every provider of the configuration answers, and could grant what the configuration offers there. */
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

/** A long list of roles is shortened; each is in the configuration. */
const named = 5;

function nameRoles(roles: readonly string[]): string {
  const more = roles.length > named ? ` and ${roles.length - named} more` : '';
  return `${roles.slice(0, named).join(', ')}${more}`;
}
