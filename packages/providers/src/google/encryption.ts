import { KeyManagementServiceClient } from '@google-cloud/kms';
import type { z } from 'zod';
import { Retryable } from '../errors.js';
import { attempt } from '../services/attempt.js';
import { checkByWrapping } from '../services/check-by-wrapping.js';
import type { googleEncryption } from '../services/config.js';
import { explainFaults } from '../services/faults.js';
import type { EncryptionService, ServiceTools } from '../services/port.js';
import { callSettings, clientSettings } from './client.js';

const service = 'Google Cloud KMS';
const explain = explainFaults(service);
const context = Buffer.from('belay');

/** Wraps key material with a symmetric key of Google Cloud KMS; needs the role `cloudkms.cryptoKeyEncrypterDecrypter` on it. */
export function openEncryption(config: z.infer<typeof googleEncryption>, tools: ServiceTools): EncryptionService {
  const client = new KeyManagementServiceClient(clientSettings(config));
  const name = config.key;
  const adapter: Pick<EncryptionService, 'wrap' | 'unwrap'> = {
    wrap: (material, signal) =>
      attempt(tools, signal, explain, async () => {
        const request = { name, plaintext: material, additionalAuthenticatedData: context };
        const [answer] = await client.encrypt(request, callSettings(tools));
        return { wrapped: bytesOf(answer.ciphertext), key: answer.name || name };
      }),
    unwrap: ({ wrapped }, signal) =>
      attempt(tools, signal, explain, async () => {
        const request = { name, ciphertext: wrapped, additionalAuthenticatedData: context };
        const [answer] = await client.decrypt(request, callSettings(tools));
        return bytesOf(answer.plaintext);
      }),
  };
  return { ...adapter, check: (signal) => checkByWrapping(adapter, signal), close: () => client.close() };
}

function bytesOf(value: Uint8Array | string | null | undefined): Uint8Array {
  if (typeof value === 'string') return Buffer.from(value, 'base64');
  if (!value) throw new Retryable(`${service} returned a response that its API does not document`);
  return value;
}
