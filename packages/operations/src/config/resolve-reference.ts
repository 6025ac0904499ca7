import { findReferences, type ResolveReference, resolveReferences } from '@belay/core';
import { oneLine, StartError } from '@belay/program';
import { Retryable, Terminal, type VaultService } from '@belay/providers';
import { readSecretFile } from '../secret-file.js';

/** How long all secrets of a configuration together may take to read, in milliseconds. */
const patience = 20_000;

/** What `${env:NAME}` and `${vault:path#key}` stand for in this process. */
export interface References {
  /** From the environment, and from the vault as it was read last. */
  resolve: ResolveReference;
  /**
   * Reads what a document refers to from the vault that the document names; answers with what its references stand for.
   */
  prepare(document: unknown): Promise<ResolveReference>;
  /** The same for the document in force: from then on `resolve` knows it too. */
  follow(document: unknown): Promise<ResolveReference>;
  /** The vault of the document in force, or undefined. */
  vault(): VaultService | undefined;
  close(): Promise<void>;
}

export interface ReferencesOptions {
  variables: Record<string, string | undefined>;
  /** Checks `services.vault` and makes its client. Throws `Terminal` for what is no configuration of one. */
  openVault(config: unknown): Promise<VaultService>;
}

type Values = ReadonlyMap<string, string | { reason: string }>;

/**
 * Returns the resolver of both kinds of references (docs/architecture.md, section 11). A secret is read when a
 * configuration is applied, activated or reloaded, and kept in memory only. For one that cannot be read the resolver
 * returns the reason, and the catalog rejects the configuration. A vendor's client that cannot be made for another
 * reason than its settings is a `StartError`.
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
      // Why is said by the check of services.vault itself.
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
      // What could be read before stays known while the vault is away: what uses it goes on.
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
 * `env:NAME` from the given variables only, or from the file that `NAME_FILE` names; one that is set to nothing counts as not set, and
 * so does one whose file cannot be read.
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
 * Returns what references stand for without a vault: `env:NAME` as at a start, and stand-ins, named `NAME` or `vault:path#key`, for
 * what has no value then.
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

/** Returns the secret of a file, or undefined when there is none. */
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

/** Faults of ours say what is wrong and no secret; of any other only that there was one. */
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
