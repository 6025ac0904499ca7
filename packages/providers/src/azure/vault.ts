import { SecretClient } from '@azure/keyvault-secrets';
import type { z } from 'zod';
import { Terminal } from '../errors.js';
import type { azureVault } from '../services/config.js';
import { explainFaults } from '../services/faults.js';
import type { ServiceTools, VaultService } from '../services/port.js';
import { readThrough } from '../services/read-through.js';
import { clientSettings, openCredential } from './client.js';

/** Reads the current version of secrets in Azure Key Vault; needs `get` on secrets. */
export function openVault(config: z.infer<typeof azureVault>, tools: ServiceTools): VaultService {
  const client = new SecretClient(config.vault_url, openCredential(config, tools), clientSettings(tools));
  return readThrough({
    tools,
    explain: explainFaults('Azure Key Vault'),
    async text(path, abortSignal) {
      if (!/^[A-Za-z0-9-]{1,127}$/.test(path)) {
        throw new Terminal('The name of a secret in Azure Key Vault must contain only letters, digits and dashes');
      }
      try {
        return (await client.getSecret(path, { abortSignal })).value;
      } catch (error) {
        if ((error as { code?: unknown }).code === 'SecretNotFound') return undefined;
        throw error;
      }
    },
    close: async () => {},
  });
}
