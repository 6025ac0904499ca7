import { z } from 'zod';
import { Terminal } from '../errors.js';
import type { LocalTools, SecretName, ServiceTools, VaultService } from '../services/port.js';
import { openEncryption } from './encryption.js';

const header = 'belay-vault 1';
/** A list, because names are arbitrary texts and must not become keys of an object. */
const contents = z.array(z.strictObject({ path: z.string(), key: z.string(), value: z.string() }));
type Contents = z.infer<typeof contents>;

/** The local vault with the operations for operators; other code gets a `VaultService`. */
export interface LocalVault extends VaultService {
  set(name: SecretName, value: string, signal: AbortSignal): Promise<void>;
  /** Returns the sorted names, and never a value. */
  list(signal: AbortSignal): Promise<SecretName[]>;
  /** Returns false when there was no such secret. */
  remove(name: SecretName, signal: AbortSignal): Promise<boolean>;
}

/**
 * Opens the vault: secrets in one file, sealed with a key derived from `BELAY_SECRET`, and always written as a whole.
 * A file that is damaged, or sealed with another secret, is rejected with its path, and never replaced.
 */
export function openLocalVault(
  config: { path?: string | undefined },
  local: LocalTools,
  tools: Pick<ServiceTools, 'randomBytes'>,
): LocalVault {
  const path = config.path ?? local.path;
  const encryption = openEncryption(local.keys, tools);

  async function load(signal: AbortSignal): Promise<Contents> {
    const text = await local.file.read(path);
    if (text === undefined) return [];
    const [first, key, sealed, ...more] = text.trimEnd().split('\n');
    if (first !== header || key === undefined || sealed === undefined || more.length > 0) {
      throw new Terminal(
        `${path} is not a vault file of Belay; move it away, or set another path in services.vault.path`,
      );
    }
    const wrapped = Buffer.from(sealed, 'base64url');
    const opened = await encryption.unwrap({ wrapped, key }, signal).catch(() => undefined);
    if (opened === undefined) {
      throw new Terminal(
        `${path} is damaged or was sealed with another BELAY_SECRET; restore it, or set BELAY_SECRET_PREVIOUS to the secret that sealed it`,
      );
    }
    return contents.parse(JSON.parse(Buffer.from(opened).toString()));
  }

  async function store(all: Contents, signal: AbortSignal): Promise<void> {
    const { wrapped, key } = await encryption.wrap(Buffer.from(JSON.stringify(all)), signal);
    await local.file.replace(path, `${header}\n${key}\n${Buffer.from(wrapped).toString('base64url')}\n`);
  }

  return {
    async read(name, signal) {
      return (await load(signal)).find((secret) => isNamed(secret, name))?.value;
    },
    async check(signal) {
      await load(signal);
    },
    close: async () => {},
    async set({ path: at, key }, value, signal) {
      const others = (await load(signal)).filter((secret) => !isNamed(secret, { path: at, key }));
      await store([...others, { path: at, key, value }], signal);
    },
    async list(signal) {
      return (await load(signal))
        .map(({ path: at, key }) => ({ path: at, key }))
        .sort((a, b) => (`${a.path}#${a.key}` < `${b.path}#${b.key}` ? -1 : 1));
    },
    async remove(name, signal) {
      const all = await load(signal);
      const others = all.filter((secret) => !isNamed(secret, name));
      if (others.length === all.length) return false;
      await store(others, signal);
      return true;
    },
  };
}

function isNamed(secret: SecretName, name: SecretName): boolean {
  return secret.path === name.path && secret.key === name.key;
}
