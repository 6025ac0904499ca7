import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

const endings = /\.(ya?ml|json)$/i;

/**
 * Returns the configuration files that a path stands for: itself, or every YAML and JSON file in the folder and below, sorted.
 * Names that begin with a dot are skipped: editors' temporary files, and the bookkeeping of mounted config maps.
 * Throws what the file system throws when the path does not exist.
 */
export async function listConfigurationFiles(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const found: string[] = [];
  for (const name of (await readdir(path)).sort()) {
    if (name.startsWith('.') || name === 'node_modules') continue;
    const below = join(path, name);
    const kind = await stat(below);
    if (kind.isDirectory()) found.push(...(await listConfigurationFiles(below)));
    else if (endings.test(name)) found.push(below);
  }
  return found;
}
