import { createCipheriv, createDecipheriv } from 'node:crypto';
import { Terminal } from '../errors.js';
import { checkByWrapping } from '../services/check-by-wrapping.js';
import type { EncryptionService, LocalTools, ServiceTools } from '../services/port.js';

const nonceLength = 12;
const tagLength = 16;

/**
 * Wraps key material with the keys of this installation (AES-256-GCM). The first key wraps, and all keys unwrap, so that
 * `BELAY_SECRET` can be rotated.
 */
export function openEncryption(keys: LocalTools['keys'], tools: Pick<ServiceTools, 'randomBytes'>): EncryptionService {
  const adapter: Pick<EncryptionService, 'wrap' | 'unwrap'> = {
    async wrap(material) {
      const [key] = await keys();
      if (!key) throw new Terminal('BELAY_SECRET is missing: no key to wrap with');
      const nonce = tools.randomBytes(nonceLength);
      const cipher = createCipheriv('aes-256-gcm', key.material, nonce);
      cipher.setAAD(Buffer.from(key.id));
      const sealed = [cipher.update(material), cipher.final()];
      return { wrapped: Buffer.concat([nonce, ...sealed, cipher.getAuthTag()]), key: key.id };
    },
    async unwrap({ wrapped, key: id }) {
      const key = (await keys()).find((one) => one.id === id);
      if (!key) throw new Terminal('The key was wrapped with another BELAY_SECRET');
      if (wrapped.byteLength < nonceLength + tagLength)
        throw new Terminal('The wrapped key failed its integrity check');
      const bytes = Buffer.from(wrapped);
      const decipher = createDecipheriv('aes-256-gcm', key.material, bytes.subarray(0, nonceLength));
      decipher.setAAD(Buffer.from(id));
      decipher.setAuthTag(bytes.subarray(-tagLength));
      try {
        return Buffer.concat([decipher.update(bytes.subarray(nonceLength, -tagLength)), decipher.final()]);
      } catch {
        throw new Terminal('The wrapped key failed its integrity check');
      }
    },
  };
  return { ...adapter, check: (signal) => checkByWrapping(adapter, signal), close: async () => {} };
}
