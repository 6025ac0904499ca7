import { findClosest } from '@belay/contract/closest';
import { type Check, failed, type Outcome, ok, warning } from '../check.js';

/** The oldest version of Node.js that Belay supports: major and minor. */
const oldest = [20, 19] as const;

/** Checks that Node.js is new enough (`engines` of the repository). */
export const node: Check = {
  name: 'node',
  run: async ({ host: { nodeVersion } }) => {
    const [major = 0, minor = 0] = nodeVersion.replace(/^v/, '').split('.').map(Number);
    const enough = major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
    return enough
      ? ok(`Node ${nodeVersion}`)
      : failed(`Node ${nodeVersion} is too old`, `install Node ${oldest.join('.')} or newer`);
  },
};

const prefix = 'BELAY_';

/** Every variable with the prefix `BELAY_` that a program of Belay reads. */
const known = [
  'BELAY_AGENT',
  'BELAY_AGENT_CREDENTIAL',
  'BELAY_AGENT_NAME',
  'BELAY_BASE_URL',
  'BELAY_CONFIG',
  'BELAY_DATA',
  'BELAY_DRAIN_SECONDS',
  'BELAY_KEYRING',
  'BELAY_MODE',
  'BELAY_SECRET',
  'BELAY_SECRET_FILE',
  'BELAY_SECRET_PREVIOUS',
  'BELAY_SECRET_PREVIOUS_FILE',
  'BELAY_SERVER',
  'BELAY_SYNC_SECONDS',
  'BELAY_TOKEN',
  'BELAY_TRUST_PROXY',
  'BELAY_URL',
  'BELAY_WORKER',
];

const suffixes = known.map((name) => name.slice(prefix.length));

/** Returns a warning for each misspelled name of a variable, which has no effect although the operator set it. */
function findTypos(names: string[]): Outcome[] {
  return names
    .filter((name) => name.startsWith(prefix) && !known.includes(name))
    .flatMap((name) => {
      const meant = findClosest(name.slice(prefix.length), suffixes);
      return meant === undefined ? [] : [warning(`${name} is not a known variable`, `did you mean ${prefix}${meant}?`)];
    });
}

/** Checks that the names of the variables are spelled correctly and that their values are valid. */
export const environment: Check = {
  name: 'environment',
  run: async ({ host: { variables }, diagnosis }) => {
    const typos = findTypos(Object.keys(variables));
    const faults = (await diagnosis.environmentFaults()).map((fault) => {
      const [message = fault, ...cure] = fault.split(': ');
      return failed(message, cure.join(': ') || 'correct it or unset it');
    });
    const found = [...faults, ...typos];
    return found.length > 0 ? found : ok('all variables that are set are valid');
  },
};
