import {
  type Catalog,
  createKeyring,
  createProbe,
  type Keyring,
  type KeyWrapping,
  type Logger,
  openKeyring,
  type ResolveReference,
  resolveReferences,
} from '@belay/core';
import type { Database } from '@belay/db';
import type { Closing } from '@belay/program';
import { clock, delay, oneLine, randomBytes, StartError } from '@belay/program';
import { openEncryptionService, Terminal } from '@belay/providers';
import { serviceTools } from './services.js';

export interface OpenKeyringOptions {
  db: Database;
  document: Catalog['document'];
  resolve: ResolveReference;
  log: Logger;
  /** Returns every secret of this installation; throws when there is no current secret. */
  required(): Promise<string[]>;
  /** Returns the secrets that exist: with a key management service they are optional. */
  found(): Promise<string[]>;
}

/**
 * Returns the client of `services.encryption`; undefined for the local keyring. Throws `StartError` when it cannot be
 * created.
 */
export async function openWrapping(
  document: Catalog['document'],
  resolve: ResolveReference,
): Promise<KeyWrapping | undefined> {
  const definition = document.services?.encryption;
  if (definition === undefined) return undefined;
  try {
    return await openEncryptionService(resolveReferences(definition, 'services.encryption', resolve, []), serviceTools);
  } catch (cause) {
    const faulty = cause instanceof Terminal;
    throw new StartError(
      faulty ? cause.message : `services.encryption: its client cannot be created (${oneLine(cause)})`,
      { cause },
    );
  }
}

/**
 * Opens the keyring of the configuration: from `BELAY_SECRET`, or with keys that a key management service wraps. Throws
 * `StartError` when the service is unavailable, because nothing could be sealed or opened; later outages only show in
 * /health.
 */
export async function openConfiguredKeyring(
  options: OpenKeyringOptions,
  closing: Closing,
): Promise<{ keyring: Keyring; encryption: { health(): Promise<string> } | undefined }> {
  const { db, document, resolve, log } = options;
  const wrapping = await openWrapping(document, resolve);
  if (!wrapping) return { keyring: createKeyring(await options.required()), encryption: undefined };
  const { service } = wrapping;
  closing.add('the key management service', () => service.close());
  const now = () => clock().getTime();
  const secrets = await options.found();
  const keyring = await openKeyring({ db, log, wrapping, secrets, randomBytes, delay, now }).catch((cause: unknown) => {
    throw new StartError(
      `services.encryption: the keys cannot be unwrapped (${oneLine(cause)}); check that the service of ${wrapping.name} can be reached from here and permits both wrapping and unwrapping`,
      { cause },
    );
  });
  closing.add('the keyring', () => keyring.close());
  keyring.follow();
  const health = createProbe({
    name: 'the key management service',
    check: (signal) => service.check(signal),
    log,
    now,
  });
  return { keyring, encryption: { health } };
}
