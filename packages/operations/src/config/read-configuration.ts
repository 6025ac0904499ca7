import { type Breathe, inOnePiece } from '@belay/core';
import { ConfigurationError, type ConfigurationFault, placeFaults } from './configuration-error.js';
import { listConfigurationFiles, readText } from './list-files.js';
import { type MergedConfiguration, mergeConfigurationFiles } from './merge-files.js';
import { type ConfigurationFile, parseConfigurationFile } from './parse-file.js';

export interface Configuration extends MergedConfiguration {
  /** The path that the configuration was read from, as given. */
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
  const names = await listFiles(path);
  if (names.length === 0) {
    const message = `contains no YAML or JSON file; add one, for example ${path}/belay.yaml`;
    throw new ConfigurationError([{ file: path, message }]);
  }
  const files: ConfigurationFile[] = [];
  const faults: ConfigurationFault[] = [];
  for (const name of names) {
    try {
      files.push(await parseConfigurationFile(name, await readText(name), breathe));
    } catch (error) {
      faults.push(...faultsOf(error, name));
    }
  }
  if (faults.length > 0) throw new ConfigurationError(faults);
  return { ...(await merge(files, path)), source: path, files: names };
}

async function listFiles(path: string): Promise<string[]> {
  try {
    return await listConfigurationFiles(path);
  } catch (error) {
    throw new ConfigurationError(faultsOf(error, path));
  }
}

async function merge(files: readonly ConfigurationFile[], path: string): Promise<MergedConfiguration> {
  try {
    return mergeConfigurationFiles(files, path);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const textOf = (file: string) => files.find((one) => one.file === file)?.text;
    throw new ConfigurationError(await placeFaults(error.faults, { textOf }));
  }
}

function faultsOf(error: unknown, file: string): readonly ConfigurationFault[] {
  return error instanceof ConfigurationError ? error.faults : [{ file, message: reasonOf(error) }];
}
