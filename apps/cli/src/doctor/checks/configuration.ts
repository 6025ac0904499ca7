import { type Check, failed, noServerHere, type Outcome, ok } from '../check.js';

/** The configuration can be used, as `belay validate` says. */
export const configuration: Check = {
  name: 'configuration',
  run: async ({ local, diagnosis }) => {
    if ((await local()) === undefined) return noServerHere;
    const found = await diagnosis.configuration();
    if (found === undefined) return ok('none here: a start would play the demo');
    const { source, inspection } = found;
    if (inspection.ok) return ok(`${source} is valid`);
    return inspection.messages.map(
      (message): Outcome => failed(message, `correct it and run: belay validate ${source}`),
    );
  },
};
