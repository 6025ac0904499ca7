import { type Check, failed, type Outcome, ok, warning } from '../check.js';

/** Every variable with our prefix that any of our programs reads. */
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

/** How many letters have to change, come or go to make one word the other (Levenshtein). */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (const [at, letter] of [...left].entries()) {
    const next = [at + 1];
    for (const [index, other] of [...right].entries()) {
      const replaced = (row[index] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

/** Misspelled names of our variables: the operator believes that they have an effect. */
function findTypos(names: string[]): Outcome[] {
  return names
    .filter((name) => name.startsWith('BELAY_') && !known.includes(name))
    .flatMap((name) => {
      const meant = known.find((each) => distance(each, name) <= 2);
      return meant === undefined ? [] : [warning(`${name} is not a known variable`, `did you mean ${meant}?`)];
    });
}

/** The variables are spelt right and their values can be used. */
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
