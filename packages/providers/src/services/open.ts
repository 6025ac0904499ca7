import { Terminal } from '../errors.js';
import { openLocalVault } from '../local/vault.js';
import { type EncryptionConfig, encryptionConfig, type VaultConfig, vaultConfig } from './config.js';
import type { EncryptionService, LocalTools, ServiceTools, VaultService } from './port.js';

/**
 * Creates the client of `services.encryption`; undefined for the local keyring, which is not a service. The vendor's
 * code is loaded only here. Throws `Terminal` when the configuration is not valid; sends no request.
 */
export async function openEncryptionService(
  input: unknown,
  tools: ServiceTools,
): Promise<{ service: EncryptionService; name: string } | undefined> {
  const parsed = encryptionConfig.safeParse(input);
  if (!parsed.success) throw notValid('services.encryption', parsed.error.issues);
  const config = parsed.data;
  if (config.provider === 'local') return undefined;
  const service = await openVendorEncryption(config, tools);
  return { service, name: describeKey(config) };
}

/**
 * Creates the client of `services.vault`. The vendor's code is loaded only here. Throws `Terminal` when the
 * configuration is not valid; sends no request.
 */
export async function openVaultService(
  input: unknown,
  tools: ServiceTools & { local: LocalTools },
): Promise<VaultService> {
  const parsed = vaultConfig.safeParse(input);
  if (!parsed.success) throw notValid('services.vault', parsed.error.issues);
  const config = parsed.data;
  if (config.provider === 'local') return openLocalVault(config, tools.local, tools);
  return openVendorVault(config, tools);
}

async function openVendorEncryption(
  config: Exclude<EncryptionConfig, { provider: 'local' }>,
  tools: ServiceTools,
): Promise<EncryptionService> {
  switch (config.provider) {
    case 'aws':
      return (await import('../aws/encryption.js')).openEncryption(config, tools);
    case 'google':
      return (await import('../google/encryption.js')).openEncryption(config, tools);
    case 'azure':
      return (await import('../azure/encryption.js')).openEncryption(config, tools);
    case 'hashicorp':
      return (await import('../hashicorp/encryption.js')).openEncryption(config, tools);
  }
}

async function openVendorVault(
  config: Exclude<VaultConfig, { provider: 'local' }>,
  tools: ServiceTools,
): Promise<VaultService> {
  switch (config.provider) {
    case 'aws':
      return (await import('../aws/vault.js')).openVault(config, tools);
    case 'google':
      return (await import('../google/vault.js')).openVault(config, tools);
    case 'azure':
      return (await import('../azure/vault.js')).openVault(config, tools);
    case 'hashicorp':
      return (await import('../hashicorp/vault.js')).openVault(config, tools);
  }
}

/** Returns the service and the key that wrap, as stored in the database with each wrapped key. */
function describeKey(config: Exclude<EncryptionConfig, { provider: 'local' }>): string {
  switch (config.provider) {
    case 'aws':
      return `aws ${config.region} ${config.key}`;
    case 'google':
      return `google ${config.key}`;
    case 'azure':
      return `azure ${config.vault_url}/keys/${config.key}`;
    case 'hashicorp':
      return `hashicorp ${config.address} ${config.namespace ?? '-'} ${config.mount}/${config.key}`;
  }
}

function notValid(service: string, issues: readonly { path: PropertyKey[]; message: string }[]): Terminal {
  const [issue] = issues;
  const path = [service, ...(issue?.path ?? []).map(String)].join('.');
  return new Terminal(`${path}: ${issue?.message ?? 'is not valid'}`);
}
