import { ConfigurationError, type ConfigurationFault } from './configuration-error.js';
import type { ConfigurationFile } from './parse-file.js';

/** Finds the file that has the key of an issue of the catalog. */
export type Locate = (issuePath: string) => { file: string };

export interface MergedConfiguration {
  /** The whole configuration as one document; references such as `${env:NAME}` are still references. */
  document: Record<string, unknown>;
  locate: Locate;
  /** The text of a file, for the places of its keys; undefined for the folder. */
  textOf(file: string): string | undefined;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Merges files one level deep: a section such as `providers`, `roles` or `workflows` may be spread over files, but one
 * name is defined in one file. Throws `ConfigurationError`, which names both files, when two files define a name
 * (docs/architecture.md, section 11).
 */
export function mergeConfigurationFiles(files: readonly ConfigurationFile[], whole: string): MergedConfiguration {
  const sections = new Map<string, unknown>();
  const owners = new Map<string, string>();
  const faults: ConfigurationFault[] = [];

  function claim(key: string, file: string): boolean {
    const owner = owners.get(key);
    if (owner === undefined) owners.set(key, file);
    else faults.push({ file, path: key, message: `is already defined in ${owner}; a name is defined once` });
    return owner === undefined;
  }

  for (const { file, content } of files) {
    for (const [section, value] of Object.entries(content)) {
      const before = sections.get(section);
      if (section === 'version' && before !== undefined && before === value) continue;
      if (!isMapping(value) || (before !== undefined && !isMapping(before))) {
        if (claim(section, file)) sections.set(section, value);
        continue;
      }
      // A fault of a section as a whole names the first file that has a part of the section.
      if (!owners.has(section)) owners.set(section, file);
      const merged = before ?? {};
      for (const [name, definition] of Object.entries(value)) {
        if (claim(`${section}.${name}`, file)) define(merged, name, definition);
      }
      sections.set(section, merged);
    }
  }
  if (faults.length > 0) throw new ConfigurationError(faults);
  const document: Record<string, unknown> = {};
  for (const [section, value] of sections) define(document, section, value);
  const texts = new Map(files.map(({ file, text }) => [file, text]));
  return {
    document,
    locate: (path) => ({ file: findOwner(owners, path) ?? whole }),
    textOf: (file) => texts.get(file),
  };
}

/** Defines a property. Assigning to a key named `__proto__` would set the prototype, and hide the key from validation. */
function define(target: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

/** Returns the file of the longest defined key that the path begins with; keys may contain dots. */
function findOwner(owners: ReadonlyMap<string, string>, path: string): string | undefined {
  for (let end = path.length; end > 0; end -= 1) {
    if (end < path.length && path[end] !== '.' && path[end] !== '[') continue;
    const owner = owners.get(path.slice(0, end));
    if (owner !== undefined) return owner;
  }
  return undefined;
}
