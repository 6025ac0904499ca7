import { canonicalJson } from '@belay/contract/canonical';
import { isOutage } from '@belay/contract/outage';
import { catalogs, type Database, execute, sqlText } from '@belay/db';
import type { ProviderClient } from '@belay/providers';
import { inOnePiece } from '../breathe.js';
import type { Catalog, CompiledProvider } from '../configuration/catalog.js';
import { type CompileOptions, compileCatalog, versionText } from '../configuration/compile.js';
import type { ResolveReference } from '../configuration/references.js';
import type { CatalogSource, Changes, Logger, Store } from '../context.js';
import { noteOutage } from '../outage.js';
import type { Timing } from '../timing.js';
import { checkTargets } from './ask-targets.js';
import { createBudgets, pausesChanged, selectPauses } from './budgets.js';
import { readStoredDocument } from './read-stored.js';

export interface LiveCatalog extends CatalogSource {
  /**
   * Loads the newest stored version in this process; throws and keeps the current one when that fails. `reread` reads
   * secrets again as well: a client whose secrets changed is created again.
   */
  refresh(options?: { reread?: boolean }): Promise<void>;
  /** Follows newer versions, and pauses of providers, until `close`. With `changes` a pause is known at once, otherwise within 2 s. */
  follow(changes?: Changes): void;
  close(): Promise<void>;
}

export interface CatalogSourceOptions extends CompileOptions {
  /**
   * Reads the external references of a document (its vault) before it is compiled. When absent, `resolve` resolves
   * every reference.
   */
  prepare?: ((document: unknown) => Promise<ResolveReference>) | undefined;
  db: Database;
  log: Logger;
  timing: Timing;
  delay: Store['delay'];
  now(): number;
}

/**
 * Opens the catalog in force and a client for each provider whose configuration is complete, also for a disabled one.
 * Throws when no configuration is stored, or when it cannot be used here.
 */
export async function openCatalog(options: CatalogSourceOptions): Promise<LiveCatalog> {
  const { db, log } = options;
  const clients = new Map<string, { fingerprint: string; client: ProviderClient }>();
  const budgets = createBudgets({ db, log, now: options.now });
  const ended = new AbortController();
  let current: Catalog | undefined;
  /** The digest of the stored row: after a restore, another configuration can have the same version. */
  let digest: string | undefined;
  let following: Promise<void> = Promise.resolve();
  let refreshing: Promise<void> = Promise.resolve();

  /** Loads one version at a time: an older version that takes longer to compile must not replace a newer one. */
  function refresh(how: { reread?: boolean } = {}): Promise<void> {
    const done = refreshing.then(() => readNewest(how));
    refreshing = done.catch(() => undefined);
    return done;
  }

  async function readNewest({ reread = false }: { reread?: boolean }): Promise<void> {
    const [latest] = await execute<{ version: number; digest: string; pauses: string }>(
      db,
      sqlText`select version::int as version, digest, ${selectPauses} as pauses from ${catalogs} order by version desc limit 1`,
    );
    if (latest) budgets.hear(latest.pauses);
    if (!latest || (latest.version === current?.version && latest.digest === digest && !reread)) return;
    const { version } = latest;
    const document = await readStoredDocument(db, version, options.breathe ?? inOnePiece);
    const resolve = (await options.prepare?.(document)) ?? options.resolve;
    const result = await compileCatalog(document, { ...options, resolve });
    if (!result.ok) {
      const [first] = result.issues;
      throw new Error(
        `The configuration ${versionText(version)} cannot be used on this server: ${first?.path}: ${first?.message}`,
      );
    }
    // R7: another process, with another environment, may have applied this configuration.
    const [moved] = await checkTargets(db, result.catalog);
    if (moved) {
      throw new Error(
        `The configuration ${versionText(version)} cannot be used on this server: ${moved.path}: ${moved.message}`,
      );
    }
    current = { ...result.catalog, version };
    digest = latest.digest;
    await openClients(current);
  }

  async function openClients(catalog: Catalog): Promise<void> {
    const stale: ProviderClient[] = [];
    for (const [id, open] of clients) {
      const provider = catalog.providers.get(id);
      if (provider && fingerprint(provider) === open.fingerprint) continue;
      clients.delete(id);
      stale.push(open.client);
    }
    for (const provider of catalog.providers.values()) {
      // A disabled provider has a client too, if it is configured: the access that it holds must be revoked.
      if (provider.config === undefined || clients.has(provider.id)) continue;
      try {
        const client = await provider.connector.create(provider.config, {
          now: options.now,
          log: (line, detail) => log.info({ provider: provider.id, ...detail }, line),
          budget: budgets.create(provider),
        });
        clients.set(provider.id, { fingerprint: fingerprint(provider), client });
      } catch (error) {
        log.error({ provider: provider.id, error }, 'the client of a provider could not be created');
      }
    }
    await Promise.all(stale.map((client) => client.close().catch(() => undefined)));
  }

  function tell(error: unknown): void {
    if (ended.signal.aborted) return;
    if (isOutage(error)) noteOutage({ log, clock: () => new Date(options.now()) }, error);
    else log.warn({ error }, 'the newest configuration could not be loaded');
  }

  await refresh();
  if (!current) throw new Error('There is no configuration yet: start a server with a configuration first');
  return {
    current() {
      if (!current) throw new Error('The catalog is closed');
      return current;
    },
    client: (provider) => clients.get(provider)?.client,
    refresh,
    follow(changes) {
      const stop = changes?.subscribe(pausesChanged, () => void refresh().catch(tell));
      ended.signal.addEventListener('abort', () => stop?.());
      following = (async () => {
        while (!ended.signal.aborted) {
          try {
            await options.delay(options.timing.catalogRefresh, ended.signal);
            await refresh();
          } catch (error) {
            tell(error);
          }
        }
      })();
    },
    async close() {
      ended.abort();
      await following;
      await Promise.all([...clients.values()].map(({ client }) => client.close().catch(() => undefined)));
      clients.clear();
    },
  };
}

function fingerprint(provider: CompiledProvider): string {
  return canonicalJson([provider.definition.provider, provider.config, provider.definition.calls ?? null]);
}
