import { readFile } from 'node:fs/promises';
import { type Breathe, inOnePiece } from '@belay/core';
import { ConfigurationError } from './configuration-error.js';
import { listConfigurationFiles } from './list-files.js';
import { type MergedConfiguration, mergeConfigurationFiles } from './merge-files.js';
import { type ConfigurationFile, parseConfigurationFile } from './parse-file.js';

export interface Configuration extends MergedConfiguration {
  /** The path it was read from, as it was given. */
  source: string;
  files: string[];
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'does not exist; create it, or point BELAY_CONFIG at a configuration file or folder';
  if (code === 'EACCES' || code === 'EPERM') return 'cannot be read by this user; allow it to';
  return error instanceof Error ? error.message : String(error);
}

/**
 * Reads `belay.yaml`, or every YAML and JSON file of a folder, into one document (docs/architecture.md, section 11).
 * Throws `ConfigurationError`; its messages name the file, and the line or the key.
 */
export async function readConfiguration(path: string, breathe: Breathe = inOnePiece): Promise<Configuration> {
  let names: string[];
  try {
    names = await listConfigurationFiles(path);
  } catch (error) {
    throw new ConfigurationError([`${path}: ${reasonOf(error)}`]);
  }
  if (names.length === 0) {
    throw new ConfigurationError([`${path}: contains no YAML or JSON file; add one, e.g. ${path}/belay.yaml`]);
  }
  const files: ConfigurationFile[] = [];
  const faults: string[] = [];
  for (const name of names) {
    try {
      files.push(await parseConfigurationFile(name, await readFile(name, 'utf8'), breathe));
    } catch (error) {
      if (error instanceof ConfigurationError) faults.push(...error.messages);
      else faults.push(`${name}: ${reasonOf(error)}`);
    }
  }
  if (faults.length > 0) throw new ConfigurationError(faults);
  return { ...mergeConfigurationFiles(files, path), source: path, files: names };
}
