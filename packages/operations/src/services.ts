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

/** What the clients of services may use of this machine. */
export const serviceTools: ServiceTools = { delay, randomBytes, now: () => clock().getTime() };

/** Returns the secrets of this installation as far as they are there: `BELAY_SECRET`, or the file of the embedded database. */
export function findInstallationSecrets({ secret, previousSecrets, dataDirectory }: Settings): Promise<string[]> {
  return findSecrets({ given: secret, previous: previousSecrets, dataDirectory });
}

/** Returns what the local vault works with: its file, in `BELAY_DATA` unless the configuration says otherwise, and a key of its own from each secret. */
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

/** Returns how the vault in force is; another one that is taken in force is asked anew. */
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

/** Returns the local vault's file on disk: a crash leaves the old one or the new one and nothing else. */
function createVaultFile(randomBytes: (size: number) => Uint8Array): VaultFile {
  return {
    read: async (path) => (await readIfPresent(path))?.toString('utf8'),
    async replace(path, text) {
      await mkdir(dirname(path), { recursive: true });
      await replaceFile(path, text, { token: Buffer.from(randomBytes(6)).toString('hex') });
    },
  };
}
