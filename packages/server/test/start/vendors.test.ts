import { fileURLToPath } from 'node:url';
import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeFolder, startProcess } from './server-process.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const environment = () => ({
  DATABASE_URL: database.url,
  BELAY_SECRET: 'a secret for tests that is long enough',
  NODE_OPTIONS: `--import ${fileURLToPath(new URL('refuse-vendors.mjs', import.meta.url))}`,
});

const vendors: [string, string][] = [
  ['services: { encryption: { provider: aws, region: eu-central-1, key: alias/belay } }', '@aws-sdk/client-kms'],
  ['services: { vault: { provider: aws, region: eu-central-1 } }', '@aws-sdk/client-secrets-manager'],
  ['services: { vault: { provider: google, project: belay } }', '@google-cloud/secret-manager'],
  ['services: { vault: { provider: azure, vault_url: "https://belay.vault.azure.net" } }', '@azure/'],
];

// modules.test.ts checks that a server without cloud services loads none of these packages.
it.each(process.env.CI ? vendors : vendors.slice(0, 1))(
  'a server loads the SDK of a vendor when a cloud service is configured: %s',
  async (text, sdk) => {
    await using folder = await makeFolder({ 'belay.yaml': `${text}\n` });
    await using server = startProcess(folder.path, environment());
    expect(await server.exited).toBe(1);
    expect(server.stderr()).toContain(`loaded the vendor ${sdk}`);
  },
);
