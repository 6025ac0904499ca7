import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Database } from '@belay/db';
import { rootPath, StartError } from '@belay/program';

/** The source of the demo's catalog, in the ledger and in its versions. */
export const demoSource = 'demo';

/**
 * The configuration source of this process. `stored`: the current configuration in the database, which other processes
 * have applied.
 */
export type ConfigurationChoice = { kind: 'files'; path: string } | { kind: 'demo'; path: string } | { kind: 'stored' };

/**
 * Chooses the configuration (docs/architecture.md, section 11): the one that is set or found, else the demo. A database
 * that already has a configuration other than the demo's never gets the demo, because then a start in the wrong folder
 * would let the demo's people sign in: a worker without HTTP uses the stored configuration, and any other process
 * throws `StartError`.
 */
export async function chooseConfiguration(
  db: Database,
  options: { asked: string | undefined; directory: string; worker: 'inline' | 'off' | 'only' },
): Promise<ConfigurationChoice> {
  const path = findConfiguration(options.asked, options.directory);
  if (path !== undefined) return { kind: 'files', path: placeIn(options.directory, path) };
  const inForce = await db.query.catalogs.findFirst({
    columns: { source: true },
    orderBy: (catalogs, { desc }) => [desc(catalogs.version)],
  });
  if (inForce === undefined || inForce.source === demoSource) {
    return { kind: 'demo', path: rootPath('examples/quickstart/belay.yaml') };
  }
  if (options.worker === 'only') return { kind: 'stored' };
  throw new StartError(
    `BELAY_CONFIG is not set and there is no belay.yaml or config/ here, but the database has the configuration of ${inForce.source}; start in its folder, or set BELAY_CONFIG`,
  );
}

/** Returns a path in the directory as this process reads it; unchanged when the directory is the working directory. */
function placeIn(directory: string, path: string): string {
  return resolve(directory) === resolve() ? path : resolve(directory, path);
}

/**
 * Returns where the configuration is: the path that is set, else `belay.yaml` or `config/` in the directory, else
 * undefined (the demo). A relative path is relative to the directory.
 */
export function findConfiguration(asked: string | undefined, directory: string): string | undefined {
  if (asked !== undefined) return asked;
  return ['belay.yaml', 'config'].find((name) => existsSync(join(directory, name)));
}
