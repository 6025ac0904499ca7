import { SecretManagerServiceClient } from '@google-cloud/secret-manager';
import type { z } from 'zod';
import { Terminal } from '../errors.js';
import type { googleVault } from '../services/config.js';
import { explainFaults } from '../services/faults.js';
import type { ServiceTools, VaultService } from '../services/port.js';
import { readThrough } from '../services/read-through.js';
import { callSettings, clientSettings } from './client.js';

/** `NOT_FOUND` of gRPC. */
const notFound = 5;

/** Reads the latest version of secrets in Google Secret Manager; needs the role `secretmanager.secretAccessor` on each. */
export function openVault(config: z.infer<typeof googleVault>, tools: ServiceTools): VaultService {
  const client = new SecretManagerServiceClient(clientSettings(config));
  return readThrough({
    tools,
    explain: explainFaults('Google Secret Manager'),
    async text(path) {
      if (!/^[A-Za-z0-9_-]{1,255}$/.test(path)) {
        throw new Terminal(
          'The name of a secret in Google Secret Manager must contain only letters, digits, dashes and underscores',
        );
      }
      const name = `projects/${config.project}/secrets/${path}/versions/latest`;
      try {
        const [{ payload }] = await client.accessSecretVersion({ name }, callSettings(tools));
        return payload?.data ? Buffer.from(payload.data as Uint8Array).toString('utf8') : undefined;
      } catch (error) {
        if ((error as { code?: unknown }).code === notFound || (error as { code?: unknown }).code === 404)
          return undefined;
        throw error;
      }
    },
    close: () => client.close(),
  });
}
