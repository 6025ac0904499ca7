import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Returns keys as a key management service has them: used by name, and never returned. */
export function createKeys(names: readonly string[]) {
  const keys = new Map(names.map((name) => [name, randomBytes(32)]));
  return {
    /** Encrypts a text; returns undefined for an unknown key. */
    seal(name: string, plain: Buffer, context = ''): Buffer | undefined {
      const key = keys.get(name);
      if (!key) return undefined;
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      cipher.setAAD(Buffer.from(context));
      const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([nonce, sealed, cipher.getAuthTag()]);
    },
    /** Decrypts a text; returns undefined for one that was not encrypted with this key and context. */
    open(name: string, sealed: Buffer, context = ''): Buffer | undefined {
      const key = keys.get(name);
      if (!key || sealed.length < 28) return undefined;
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12));
        decipher.setAAD(Buffer.from(context));
        decipher.setAuthTag(sealed.subarray(-16));
        return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
      } catch {
        return undefined;
      }
    },
    has: (name: string) => keys.has(name),
  };
}
