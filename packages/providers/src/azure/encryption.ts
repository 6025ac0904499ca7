import { CryptographyClient } from '@azure/keyvault-keys';
import type { z } from 'zod';
import { Terminal } from '../errors.js';
import { attempt } from '../services/attempt.js';
import { checkByWrapping } from '../services/check-by-wrapping.js';
import type { azureEncryption } from '../services/config.js';
import { explainFaults } from '../services/faults.js';
import type { EncryptionService, ServiceTools } from '../services/port.js';
import { clientSettings, openCredential } from './client.js';

const service = 'Azure Key Vault';
const explain = explainFaults(service);
const algorithm = 'RSA-OAEP-256';

/** Wraps key material with an RSA key of Azure Key Vault or a managed HSM; needs `get`, `wrapKey` and `unwrapKey` on it. */
export function openEncryption(config: z.infer<typeof azureEncryption>, tools: ServiceTools): EncryptionService {
  const credential = openCredential(config, tools);
  const name = `${config.vault_url}/keys/${config.key}`;
  const clients = new Map<string, CryptographyClient>();
  function clientFor(key: string): CryptographyClient {
    const known = clients.get(key);
    if (known) return known;
    const client = new CryptographyClient(key, credential, clientSettings(tools));
    clients.set(key, client);
    return client;
  }
  const adapter: Pick<EncryptionService, 'wrap' | 'unwrap'> = {
    wrap: (material, signal) =>
      attempt(tools, signal, explain, async (abortSignal) => {
        // Created for each call: a client keeps the version that it found first, and the key may have been rotated.
        const client = new CryptographyClient(name, credential, clientSettings(tools));
        const { result, keyID } = await client.wrapKey(algorithm, material, { abortSignal });
        return { wrapped: result, key: keyID ?? name };
      }),
    unwrap: ({ wrapped, key }, signal) =>
      attempt(tools, signal, explain, async (abortSignal) => {
        // Only versions of the configured key: an attacker who can write our rows could name a key of their own.
        if (key !== name && !(key.startsWith(`${name}/`) && /^[A-Za-z0-9]+$/.test(key.slice(name.length + 1)))) {
          throw new Terminal(`${service} wrapped the key with another key than the configured one`);
        }
        const { result } = await clientFor(key).unwrapKey(algorithm, wrapped, { abortSignal });
        return result;
      }),
  };
  return { ...adapter, check: (signal) => checkByWrapping(adapter, signal), close: async () => clients.clear() };
}
