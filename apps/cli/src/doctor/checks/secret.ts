import { type Check, failed, noServerHere, ok, warning } from '../check.js';

const cure = 'create one with: openssl rand -base64 32';

/** Returns how many bits each character carries at most, from how often each character occurs (Shannon entropy). */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const letter of text) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  return [...counts.values()].reduce((sum, count) => sum - (count / text.length) * Math.log2(count / text.length), 0);
}

/** Checks that `BELAY_SECRET` is hard to guess. Its value is never shown. */
export const secret: Check = {
  name: 'secret',
  run: async ({ local }) => {
    const server = await local();
    if (server === undefined) return noServerHere;
    const { secret: value, embedded } = server;
    if (value === undefined) {
      return embedded
        ? ok('created at the first start and kept in the data folder')
        : failed('BELAY_SECRET is not set; with DATABASE_URL, every process needs the same secret', cure);
    }
    if (value.length < 32) return failed('BELAY_SECRET is shorter than 32 characters', cure);
    if (/change.?me|example|password|secret|12345|qwert/i.test(value)) {
      return failed('BELAY_SECRET contains a common word and is easy to guess', cure);
    }
    return entropy(value) * value.length < 100
      ? warning('BELAY_SECRET repeats characters and is easy to guess', cure)
      : ok(`BELAY_SECRET has ${value.length} characters`);
  },
};
