import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { holdLock } from '@belay/host';
import { delay, randomBytes, StartError } from '@belay/program';
import { type LocalVault, openLocalVault, type SecretName } from '@belay/providers';
import { findConfiguration } from './config/choose-configuration.js';
import { readConfiguration } from './config/read-configuration.js';
import type { Environment } from './environment.js';
import { readSecrets } from './secret.js';
import { createLocalTools } from './services.js';

export interface VaultOptions {
  environment: Environment;
  /** Where `belay.yaml` and `config/` are looked for. */
  directory: string;
}

/** How long the vault may take for one command, in milliseconds, without the wait for the lock. */
const patience = 10_000;
/** The longest value that is accepted, in characters. */
const longest = 65_536;
/** How long a command waits for another command to end, in milliseconds. */
const lockPatience = 10_000;

/**
 * Stores a secret in the local vault, for `${vault:path#key}` (`belay vault set`). Running servers use it after they
 * reload their configuration. Throws `StartError` for a name or value that cannot be stored, and for a vault that is not
 * the local one.
 */
export async function setInVault(options: VaultOptions, reference: string, value: string): Promise<SecretName> {
  const name = parseName(reference);
  if (value === '') throw new StartError('The value is empty; write it to standard input');
  if (value.length > longest) throw new StartError(`The value is longer than ${longest} characters`);
  const { vault, path } = await open(options, true);
  await alone(path, () => vault.set(name, value, AbortSignal.timeout(patience)));
  return name;
}

/** Returns the names of the secrets in the local vault, without their values (`belay vault list`). Throws `StartError`. */
export async function listVault(options: VaultOptions): Promise<SecretName[]> {
  const { vault } = await open(options, false);
  return vault.list(AbortSignal.timeout(patience)).catch(explain);
}

/** Removes a secret from the local vault (`belay vault remove`); returns whether it existed. Throws `StartError`. */
export async function removeFromVault(options: VaultOptions, reference: string): Promise<boolean> {
  const name = parseName(reference);
  const { vault, path } = await open(options, false);
  return alone(path, () => vault.remove(name, AbortSignal.timeout(patience)));
}

function parseName(reference: string): SecretName {
  const [, path, key] = /^([^#{}\s]{1,512})#([^#{}\s]{1,256})$/.exec(reference) ?? [];
  if (path === undefined || key === undefined) {
    throw new StartError(
      'The name of a secret is path#key, for example database#password, without spaces, braces or a second #',
    );
  }
  return { path, key };
}

/**
 * Opens the local vault of the configuration, which is the file in `BELAY_DATA` unless the configuration names another.
 */
async function open(
  { environment, directory }: VaultOptions,
  make: boolean,
): Promise<{ vault: LocalVault; path: string }> {
  const { secret: given, previousSecrets: previous, dataDirectory, databaseUrl } = environment;
  const embedded = databaseUrl === undefined;
  if (make) await readSecrets({ given, previous, dataDirectory, embedded, randomBytes });
  const path = findConfiguration(environment.configuration, directory);
  const document =
    path === undefined ? undefined : (await readConfiguration(resolve(directory, path)).catch(explain)).document;
  const services = document?.services as { vault?: { provider?: unknown; path?: unknown } } | undefined;
  const { provider = 'local', path: file } = services?.vault ?? {};
  if (provider !== 'local') {
    throw new StartError(`services.vault is ${String(provider)}: store its secrets with the tools of its vendor`);
  }
  const local = createLocalTools(environment);
  const config = { path: typeof file === 'string' ? file : local.path };
  return { vault: openLocalVault(config, local, { randomBytes }), path: config.path };
}

/**
 * Makes one change at a time, because each change reads and rewrites the whole file. Throws `StartError` when another
 * change does not end in time.
 */
async function alone<T>(path: string, change: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  await mkdir(dirname(path), { recursive: true });
  const token = randomBytes(6).toString('hex');
  const release = await holdLock({ path: lock, token, delay, patience: lockPatience }).catch(explain);
  if (release === undefined)
    throw new StartError(`Another command is changing the vault; if none runs, remove ${lock}`);
  try {
    return await change();
  } catch (error) {
    return explain(error);
  } finally {
    await release();
  }
}

function explain(cause: unknown): never {
  throw new StartError(cause instanceof Error ? cause.message : 'The vault cannot be used', { cause });
}
