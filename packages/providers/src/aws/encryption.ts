import { DecryptCommand, EncryptCommand, KMSClient } from '@aws-sdk/client-kms';
import type { z } from 'zod';
import { Retryable } from '../errors.js';
import { attempt } from '../services/attempt.js';
import { checkByWrapping } from '../services/check-by-wrapping.js';
import type { awsEncryption } from '../services/config.js';
import { explainFaults } from '../services/faults.js';
import type { EncryptionService, ServiceTools } from '../services/port.js';
import { clientSettings } from './client.js';

const service = 'AWS KMS';
const explain = explainFaults(service);
/** Authenticated together with the key material, and shown in CloudTrail. */
const context = { application: 'belay' };

/** Wraps key material with a symmetric key of AWS KMS; needs `kms:Encrypt` and `kms:Decrypt` on it. */
export function openEncryption(config: z.infer<typeof awsEncryption>, tools: ServiceTools): EncryptionService {
  const client = new KMSClient(clientSettings(config, tools));
  const adapter: Pick<EncryptionService, 'wrap' | 'unwrap'> = {
    wrap: (material, signal) =>
      attempt(tools, signal, explain, async (abortSignal) => {
        const command = new EncryptCommand({ KeyId: config.key, Plaintext: material, EncryptionContext: context });
        const { CiphertextBlob, KeyId } = await client.send(command, { abortSignal });
        if (!CiphertextBlob) throw new Retryable(`${service} returned no ciphertext`);
        return { wrapped: CiphertextBlob, key: KeyId ?? config.key };
      }),
    unwrap: ({ wrapped }, signal) =>
      attempt(tools, signal, explain, async (abortSignal) => {
        // Only the configured key: an attacker who can write our rows could name a key of their own.
        const command = new DecryptCommand({ KeyId: config.key, CiphertextBlob: wrapped, EncryptionContext: context });
        const { Plaintext } = await client.send(command, { abortSignal });
        if (!Plaintext) throw new Retryable(`${service} returned no plaintext`);
        return Plaintext;
      }),
  };
  return {
    ...adapter,
    check: (signal) => checkByWrapping(adapter, signal),
    close: async () => client.destroy(),
  };
}
