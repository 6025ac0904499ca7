import { type Check, failed, noServerHere, type Outcome, ok, skipped } from '../check.js';

/** Every provider of the configuration answers. */
export const providers: Check = {
  name: 'providers',
  run: async ({ local, diagnosis }) => {
    if ((await local()) === undefined) return noServerHere;
    const found = await diagnosis.configuration();
    if (found === undefined) return skipped('there is no configuration here');
    if (!found.inspection.ok) return skipped('the configuration is not valid');
    const outcomes = found.inspection.providers.map(
      ({ provider, type, fault }): Outcome =>
        fault === undefined
          ? ok(`${provider} (${type}) answers`)
          : failed(`${provider} (${type}): ${fault}`, `start it, or correct providers.${provider}.config`),
    );
    return outcomes.length > 0 ? outcomes : skipped('the configuration has none');
  },
};
