import { z } from 'zod';
import { Terminal } from '../errors.js';
import { checkByWrapping } from '../services/check-by-wrapping.js';
import type { hashicorpEncryption } from '../services/config.js';
import type { EncryptionService, ServiceTools } from '../services/port.js';
import { openHashicorp, required, service } from './client.js';

const encrypted = z.object({ data: z.object({ ciphertext: z.string().regex(/^vault:v\d+:/) }) });
const decrypted = z.object({ data: z.object({ plaintext: z.base64() }) });

/** Wraps key material with a key of the transit engine (HashiCorp Vault HTTP API, /transit/encrypt and /transit/decrypt). */
export function openEncryption(config: z.infer<typeof hashicorpEncryption>, tools: ServiceTools): EncryptionService {
  const client = openHashicorp(config, tools);
  const { mount, key } = config;
  const adapter: Pick<EncryptionService, 'wrap' | 'unwrap'> = {
    async wrap(material, signal) {
      const plaintext = Buffer.from(material).toString('base64');
      const answer = await client.ask({ method: 'POST', path: `${mount}/encrypt/${key}`, body: { plaintext } }, signal);
      const { ciphertext } = required(encrypted, answer).data;
      return { wrapped: Buffer.from(ciphertext), key: `${mount}/${key} ${ciphertext.split(':')[1]}` };
    },
    async unwrap({ wrapped }, signal) {
      const ciphertext = Buffer.from(wrapped).toString('utf8');
      if (!/^vault:v\d+:[A-Za-z0-9+/=]+$/.test(ciphertext)) throw new Terminal(`The key was not wrapped by ${service}`);
      const answer = await client.ask(
        { method: 'POST', path: `${mount}/decrypt/${key}`, body: { ciphertext } },
        signal,
      );
      return Buffer.from(required(decrypted, answer).data.plaintext, 'base64');
    },
  };
  return { ...adapter, check: (signal) => checkByWrapping(adapter, signal), close: async () => {} };
}
