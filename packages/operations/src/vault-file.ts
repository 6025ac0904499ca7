import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { VaultFile } from '@belay/providers';

/** The local vault's file on disk: replaced by renaming, so that a crash leaves the old one or the new one and nothing else. */
export function createVaultFile(randomBytes: (size: number) => Uint8Array): VaultFile {
  return {
    async read(path) {
      try {
        return await readFile(path, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    async replace(path, text) {
      await mkdir(dirname(path), { recursive: true });
      const temporary = `${path}.${Buffer.from(randomBytes(6)).toString('hex')}`;
      try {
        const handle = await open(temporary, 'wx', 0o600);
        try {
          await handle.writeFile(text);
          await handle.sync();
        } finally {
          await handle.close();
        }
        await rename(temporary, path);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
    },
  };
}
