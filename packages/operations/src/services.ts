import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createProbe, deriveKey, identifyKey, type Logger } from '@belay/core';
import { readIfPresent, replaceFile } from '@belay/host';
import { clock, delay, randomBytes } from '@belay/program';
import {
  type LocalTools,
  openVaultService,
  type ServiceTools,
  type VaultFile,
  type VaultService,
} from '@belay/providers';
import { createReferences, type References } from './config/resolve-reference.js';
import type { Environment } from './environment.js';
import { findSecrets } from './secret.js';

type Settings = Pick<Environment, 'secret' | 'previousSecrets' | 'dataDirectory'>;

/** The functions of this machine that clients of services may use. */
export const serviceTools: ServiceTools = { delay, randomBytes, now: () => clock().getTime() };

/**
 * Returns the secrets of this installation that exist: `BELAY_SECRET`, or the file of the embedded database, and the
 * previous secrets.
 */
export function findInstallationSecrets({ secret, previousSecrets, dataDirectory }: Settings): Promise<string[]> {
  return findSecrets({ given: secret, previous: previousSecrets, dataDirectory });
}

/** Returns what the local vault uses: its file, by default in `BELAY_DATA`, and one key of its own for each secret. */
export function createLocalTools(environment: Settings): LocalTools {
  return {
    file: createVaultFile(randomBytes),
    path: join(environment.dataDirectory, 'vault'),
    keys: async () =>
      (await findInstallationSecrets(environment)).map((secret) => {
        const material = new TextEncoder().encode(secret);
        return { id: identifyKey(material), material: deriveKey(material, 'vault') };
      }),
  };
}

/** Returns the references of a process: its environment, and the vault that a configuration names. */
export function openReferences(options: {
  environment: Settings;
  variables: Record<string, string | undefined>;
}): References {
  const local = createLocalTools(options.environment);
  return createReferences({
    variables: options.variables,
    openVault: (config) => openVaultService(config, { ...serviceTools, local }),
  });
}

/** Returns the health of the vault in force. When another vault comes into force, it is checked anew. */
export function watchVault(references: Pick<References, 'vault'>, log: Logger) {
  let asked: { vault: VaultService; health(): Promise<string> } | undefined;
  return {
    configured: () => references.vault() !== undefined,
    async health() {
      const vault = references.vault();
      if (vault === undefined) return 'not configured';
      if (asked?.vault !== vault) {
        const check = (signal: AbortSignal) => vault.check(signal);
        asked = { vault, health: createProbe({ name: 'the vault', check, log, now: serviceTools.now }) };
      }
      return asked.health();
    },
  };
}

/** Returns the local vault's file on disk. After a crash it has either the old or the new content. */
function createVaultFile(randomBytes: (size: number) => Uint8Array): VaultFile {
  return {
    read: async (path) => (await readIfPresent(path))?.toString('utf8'),
    async replace(path, text) {
      await mkdir(dirname(path), { recursive: true });
      await replaceFile(path, text, { token: Buffer.from(randomBytes(6)).toString('hex') });
    },
  };
}
