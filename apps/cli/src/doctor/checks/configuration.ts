import { type Check, failed, noServerHere, type Outcome, ok, warning } from '../check.js';

/** The configuration can be used, as `belay validate` says. */
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
