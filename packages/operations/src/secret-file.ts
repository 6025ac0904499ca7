import { readFileSync } from 'node:fs';

/** Returns the text of a file without the line break at its end, as secrets are mounted into containers. Throws when it cannot be read. */
export function readSecretFile(path: string): string {
  return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
}
