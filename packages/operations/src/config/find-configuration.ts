import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns where the configuration is: the path that is set, else `belay.yaml` or `config/` in the directory, else
 * undefined (the demo).
 */
export function findConfiguration(asked: string | undefined, directory: string): string | undefined {
  if (asked !== undefined) return asked;
  return ['belay.yaml', 'config'].find((name) => existsSync(join(directory, name)));
}
