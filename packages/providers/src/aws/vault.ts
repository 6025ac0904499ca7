import {
  GetSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import type { z } from 'zod';
import type { awsVault } from '../services/config.js';
import { explainFaults } from '../services/faults.js';
import type { ServiceTools, VaultService } from '../services/port.js';
import { readThrough } from '../services/read-through.js';
import { clientSettings } from './client.js';

/** Reads the current version of secrets in AWS Secrets Manager; needs `secretsmanager:GetSecretValue` on each. */
export function openVault(config: z.infer<typeof awsVault>, tools: ServiceTools): VaultService {
  const client = new SecretsManagerClient(clientSettings(config, tools));
  return readThrough({
    tools,
    explain: explainFaults('AWS Secrets Manager'),
    async text(path, abortSignal) {
      try {
        const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: path }), { abortSignal });
        return SecretString;
      } catch (error) {
        if (error instanceof ResourceNotFoundException) return undefined;
        throw error;
      }
    },
    close: async () => client.destroy(),
  });
}
