import { z } from 'zod';
import { Terminal } from '../errors.js';
import type { hashicorpVault } from '../services/config.js';
import type { ServiceTools, VaultService } from '../services/port.js';
import { textOf } from '../services/read-through.js';
import { openHashicorp, required, service } from './client.js';

/** The data of a deleted version is null. */
const secret = z.object({ data: z.object({ data: z.record(z.string(), z.unknown()).nullable() }) });

/** Reads secrets of the KV engine, version 2 (HashiCorp Vault HTTP API, /:mount/data/:path). */
export function openVault(config: z.infer<typeof hashicorpVault>, tools: ServiceTools): VaultService {
  const client = openHashicorp(config, tools);
  return {
    async read({ path, key }, signal) {
      const parts = path.split('/');
      if (parts.some((part) => part === '' || part === '.' || part === '..')) {
        throw new Terminal('The path of a secret must not contain empty, "." or ".." segments');
      }
      const escaped = parts.map(encodeURIComponent).join('/');
      const answer = await client.ask({ method: 'GET', path: `${config.mount}/data/${escaped}` }, signal);
      if (answer === undefined) return undefined;
      const { data } = required(secret, answer).data;
      return data === null ? undefined : textOf(data, key);
    },
    async check(signal) {
      // The policy `default` lets every token look itself up.
      const answer = await client.ask({ method: 'GET', path: 'auth/token/lookup-self' }, signal);
      if (answer === undefined) {
        throw new Terminal(`${service} has no API at this address, or does not have this namespace`);
      }
    },
    close: async () => {},
  };
}
