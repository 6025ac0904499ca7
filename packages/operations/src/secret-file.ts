import { readFileSync } from 'node:fs';

/** Returns the text of a file, such as a mounted secret, without the line break at its end. Throws when it cannot be read. */
export function readSecretFile(path: string): string {
  return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
}
