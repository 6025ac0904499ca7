import { findReferences, type ResolveReference, resolveReferences } from '@belay/core';
import { oneLine, StartError } from '@belay/program';
import { Retryable, Terminal, type VaultService } from '@belay/providers';
import { readSecretFile } from '../secret-file.js';

/** The time limit for reading all secrets of a configuration together, in milliseconds. */
const patience = 20_000;

/** The values of `${env:NAME}` and `${vault:path#key}` in this process. */
export interface References {
  /** Returns a value from the environment, or from the vault as it was last read for the document in force. */
  resolve: ResolveReference;
  /**
   * Reads the references of a document from the vault that it names, and returns their resolver. Does not change `resolve`.
   */
  prepare(document: unknown): Promise<ResolveReference>;
  /** Does the same for the document in force, whose values `resolve` returns from then on. */
  follow(document: unknown): Promise<ResolveReference>;
  /** Returns the vault of the document in force, or undefined. */
  vault(): VaultService | undefined;
  close(): Promise<void>;
}

export interface ReferencesOptions {
  variables: Record<string, string | undefined>;
  /** Checks `services.vault` and creates its client. Throws `Terminal` when the configuration is not valid. */
  openVault(config: unknown): Promise<VaultService>;
}

type Values = ReadonlyMap<string, string | { reason: string }>;

/**
 * Returns the resolver of both kinds of references (docs/architecture.md, section 11). A secret is read when a
 * configuration is applied, activated or reloaded, and kept in memory only. For a secret that cannot be read the resolver
 * returns the reason, and the catalog rejects the configuration. `prepare` and `follow` throw `StartError` when the client
 * of the vault cannot be created for a reason other than its settings.
 */
export function createReferences(options: ReferencesOptions): References {
  const fromEnvironment = createEnvironmentResolver(options.variables);
  const opened = new Map<string, Promise<VaultService>>();
  let inForce: { fingerprint: string | undefined; vault: VaultService | undefined; values: Values } = {
    fingerprint: undefined,
    vault: undefined,
    values: new Map(),
  };

  async function read(document: unknown) {
    const definition = (document as { services?: { vault?: unknown } } | null)?.services?.vault;
    const fingerprint = definition === undefined ? undefined : fingerprintOf(definition, fromEnvironment);
    const wanted = findReferences(withoutVault(document), 'vault');
    if (fingerprint === undefined) return { fingerprint, vault: undefined, values: refuse(wanted, noVault) };
    let opening = opened.get(fingerprint.text);
    if (!opening) {
      opening = options.openVault(fingerprint.config);
      opened.set(fingerprint.text, opening);
    }
    let vault: VaultService;
    try {
      vault = await opening;
    } catch (cause) {
      opened.delete(fingerprint.text);
      if (!(cause instanceof Terminal)) {
        throw new StartError(`services.vault: its client cannot be created (${oneLine(cause)})`, { cause });
      }
      // The check of services.vault itself reports the reason.
      return {
        fingerprint: undefined,
        vault: undefined,
        values: refuse(wanted, 'has no value: the vault cannot be used'),
      };
    }
    return { fingerprint: fingerprint.text, vault, values: await readAll(vault, wanted) };
  }

  const resolver =
    (values: Values): ResolveReference =>
    (reference) =>
      values.get(reference) ?? fromEnvironment(reference);

  return {
    resolve: (reference) => resolver(inForce.values)(reference),
    vault: () => inForce.vault,
    async prepare(document) {
      return resolver((await read(document)).values);
    },
    async follow(document) {
      const found = await read(document);
      // A secret that cannot be read now keeps its last value, so that an outage of the vault does not stop the systems
      // that use it.
      const kept = [...found.values].map(([reference, value]): [string, string | { reason: string }] => {
        const before = inForce.values.get(reference);
        return [reference, typeof value !== 'string' && typeof before === 'string' ? before : value];
      });
      inForce = { ...found, values: new Map(kept) };
      for (const [text, vault] of opened) {
        if (text === inForce.fingerprint) continue;
        opened.delete(text);
        await closeVault(vault);
      }
      return resolver(found.values);
    },
    async close() {
      await Promise.all([...opened.values()].map(closeVault));
      opened.clear();
    },
  };
}

const noVault = 'has no value: no vault is configured (services.vault)';

/**
 * Returns the resolver of `env:NAME`: from the given variables only, or from the file that `NAME_FILE` names. A variable that is
 * empty, or whose file cannot be read, counts as not set.
 */
function createEnvironmentResolver(variables: Record<string, string | undefined>) {
  return (reference: string): string | undefined => {
    const name = /^env:(.+)$/.exec(reference)?.[1];
    if (name === undefined) return undefined;
    const given = (each: string) => (Object.hasOwn(variables, each) ? variables[each] : undefined) || undefined;
    return given(name) ?? readText(given(`${name}_FILE`));
  };
}

/** Variables of this process, and stand-ins for references that have no value. */
export interface Known {
  variables: Record<string, string | undefined>;
  standIns: Record<string, string>;
}

/**
 * Returns a resolver of references that uses no vault: `env:NAME` is resolved as at a start, and a reference without a value then by
 * its stand-in, which is named `NAME` or `vault:path#key`.
 */
export function createOfflineResolver(
  document: Record<string, unknown>,
  { variables, standIns }: Known,
): ResolveReference {
  const fromEnvironment = createEnvironmentResolver(variables);
  const standIn = (name: string) => (Object.hasOwn(standIns, name) ? standIns[name] : undefined) || undefined;
  const { vault } = (document.services ?? {}) as { vault?: unknown };
  return (reference) => {
    if (reference.startsWith('env:')) return fromEnvironment(reference) ?? standIn(reference.slice('env:'.length));
    if (vault === undefined) return { reason: noVault };
    return standIn(reference) ?? { reason: `has no value: give a stand-in for "${reference}" in the policy cases` };
  };
}

/** Returns the secret in a file, or undefined when the file is empty or cannot be read. */
function readText(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readSecretFile(path) || undefined;
  } catch {
    return undefined;
  }
}

async function readAll(vault: VaultService, references: readonly string[]): Promise<Values> {
  const signal = AbortSignal.timeout(patience);
  const entries = references.map(async (reference): Promise<[string, string | { reason: string }]> => {
    const [, path, key] = /^vault:([^#]+)#([^#]+)$/.exec(reference) ?? [];
    if (path === undefined || key === undefined) return [reference, { reason: 'must be ${vault:path#key}' }];
    try {
      const value = await vault.read({ path, key }, signal);
      return [reference, value ?? { reason: 'is not in the vault' }];
    } catch (error) {
      return [reference, { reason: `cannot be read: ${reasonOf(error)}` }];
    }
  });
  return new Map(await Promise.all(entries));
}

/** Returns the message of an error of Belay, which contains no secret. Other messages are not repeated, because they may contain one. */
function reasonOf(error: unknown): string {
  const ours = error instanceof Retryable || error instanceof Terminal || error instanceof StartError;
  return ours ? error.message : 'the vault failed';
}

function refuse(references: readonly string[], reason: string): Values {
  return new Map(references.map((reference) => [reference, { reason }]));
}

function withoutVault(document: unknown): unknown {
  const { services, ...rest } = (document ?? {}) as { services?: Record<string, unknown> };
  const { vault: _vault, ...others } = services ?? {};
  return { ...rest, services: others };
}

function fingerprintOf(definition: unknown, resolve: ResolveReference): { text: string; config: unknown } {
  const config = resolveReferences(definition, 'services.vault', resolve, []);
  return { text: JSON.stringify(config), config };
}

async function closeVault(vault: Promise<VaultService>): Promise<void> {
  await vault.then((open) => open.close()).catch(() => undefined);
}
