import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readIfPresent, replaceFile } from '@belay/host';
import type { VaultFile } from '@belay/providers';

/** Returns the local vault's file on disk: a crash leaves the old one or the new one and nothing else. */
export function createVaultFile(randomBytes: (size: number) => Uint8Array): VaultFile {
  return {
    read: async (path) => (await readIfPresent(path))?.toString('utf8'),
    async replace(path, text) {
      await mkdir(dirname(path), { recursive: true });
      await replaceFile(path, text, { token: Buffer.from(randomBytes(6)).toString('hex') });
    },
  };
}
