import { generateKeyPairSync } from 'node:crypto';

interface Key {
  publicKey: string;
  privateKey: string;
}

/** Returns a function that creates an RSA key on its first call, and returns the same key later, because creation takes a while. */
export function rsaKeyOf(type: 'pkcs1' | 'pkcs8'): () => Key {
  let key: Key | undefined;
  return () => {
    key ??= generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type, format: 'pem' },
    });
    return key;
  };
}
