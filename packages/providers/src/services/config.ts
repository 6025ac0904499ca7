import { z } from 'zod';

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** An address of a service: https, or http over loopback; without credentials, query or fragment. */
const address = z
  .url({ protocol: /^https?$/ })
  .refine((text) => {
    const { username, password, search, hash } = new URL(text);
    return username === '' && password === '' && search === '' && hash === '';
  }, 'must have no credentials, query or fragment')
  .refine((text) => {
    const { protocol, hostname } = new URL(text);
    return protocol === 'https:' || loopback.test(hostname);
  }, 'must be https')
  .transform((text) => text.replace(/\/+$/, ''));

const text = z.string().min(1).max(4_096);
/** A path at HashiCorp Vault: of a namespace, a mount or a key. */
const segment = z
  .string()
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9_.-]*(\/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$/,
    'is not a valid path: use names separated by /',
  );

function isJsonObject(value: string): boolean {
  try {
    const parsed: unknown = JSON.parse(value);
    return parsed !== null && typeof parsed === 'object' && !Array.isArray(parsed);
  } catch {
    return false;
  }
}

/** How a client of AWS finds its service and its credentials. */
export const awsSettings = {
  region: z.string().regex(/^[a-z0-9-]+$/, 'is not a region, for example eu-central-1'),
  /** When absent, the SDK finds credentials by its own chain: environment, container, instance. */
  access_key_id: text.optional(),
  secret_access_key: text.optional(),
  session_token: text.optional(),
  endpoint: address.optional(),
};
const aws = { provider: z.literal('aws'), ...awsSettings };
const google = {
  provider: z.literal('google'),
  /** The content of a credentials file, as JSON; when absent, the application default credentials. */
  credentials: z.string().max(16_384).refine(isJsonObject, 'is not the JSON of a credentials file').optional(),
  endpoint: address.optional(),
};
const azure = {
  provider: z.literal('azure'),
  vault_url: address,
  /**
   * A client of the tenant with its secret; when absent, the default chain: environment, workload or managed identity.
   */
  tenant_id: text.optional(),
  client_id: text.optional(),
  client_secret: text.optional(),
  authority: address.optional(),
};
const hashicorp = {
  provider: z.literal('hashicorp'),
  address,
  namespace: segment.optional(),
  /** Either a token, or an AppRole. */
  token: text.optional(),
  role_id: text.optional(),
  secret_id: text.optional(),
  approle_mount: segment.default('approle'),
};

export const awsEncryption = z.strictObject({ ...aws, key: text });
export const googleEncryption = z.strictObject({
  ...google,
  key: z
    .string()
    .regex(
      /^projects\/[^/]+\/locations\/[^/]+\/keyRings\/[^/]+\/cryptoKeys\/[^/]+$/,
      'must be projects/…/locations/…/keyRings/…/cryptoKeys/…',
    ),
});
export const azureEncryption = z.strictObject({
  ...azure,
  key: z.string().regex(/^[A-Za-z0-9-]{1,127}$/, 'must be the name of the key'),
});
export const hashicorpEncryption = z.strictObject({ ...hashicorp, mount: segment.default('transit'), key: segment });

const whole = (names: readonly string[]) => ({
  message: `set all of ${names.join(', ')}, or none`,
  test: (config: Record<string, unknown>) => {
    const set = names.filter((name) => config[name] !== undefined).length;
    return set === 0 || set === names.length;
  },
});
export const keyPair = whole(['access_key_id', 'secret_access_key']);
const client = whole(['tenant_id', 'client_id', 'client_secret']);

/** Checks that settings which belong together are set together. */
function checkTogether(config: { provider: string } & Record<string, unknown>, context: z.RefinementCtx): void {
  const issue = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
  if (config.provider === 'aws' && !keyPair.test(config)) issue('secret_access_key', keyPair.message);
  if (config.provider === 'azure' && !client.test(config)) issue('client_secret', client.message);
  if (config.provider !== 'hashicorp') return;
  const role = config.role_id !== undefined && config.secret_id !== undefined;
  const half = (config.role_id === undefined) !== (config.secret_id === undefined);
  if (half || role === (config.token !== undefined)) issue('token', 'set either token, or role_id and secret_id');
}

/** `services.encryption` of the configuration, with its references resolved. */
export const encryptionConfig = z
  .discriminatedUnion('provider', [
    z.strictObject({ provider: z.literal('local') }),
    awsEncryption,
    googleEncryption,
    azureEncryption,
    hashicorpEncryption,
  ])
  .superRefine(checkTogether);
export type EncryptionConfig = z.infer<typeof encryptionConfig>;

export const awsVault = z.strictObject(aws);
export const googleVault = z.strictObject({
  ...google,
  project: z.string().regex(/^[a-z0-9:.-]+$/, 'is not a valid project id'),
});
export const azureVault = z.strictObject(azure);
export const hashicorpVault = z.strictObject({ ...hashicorp, mount: segment.default('secret') });
const localVault = z.strictObject({ provider: z.literal('local'), path: text.optional() });

/** `services.vault` of the configuration, with its references resolved; these may only be `${env:NAME}`. */
export const vaultConfig = z
  .discriminatedUnion('provider', [localVault, awsVault, googleVault, azureVault, hashicorpVault])
  .superRefine(checkTogether);
export type VaultConfig = z.infer<typeof vaultConfig>;
