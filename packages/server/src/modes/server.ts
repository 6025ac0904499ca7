import { availableParallelism } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '@belay/core';
import {
  type Breathe,
  breatheBy,
  type Context,
  configureSuggester,
  engineHost,
  noticeRestore,
  openCatalog,
  openChanges,
  timing,
  watchObstacles,
} from '@belay/core';
import { openDatabase } from '@belay/db';
import { findFreePort } from '@belay/host';
import type { Environment, References } from '@belay/operations';
import {
  applyConfiguration,
  type ConfigurationChoice,
  ConfigurationError,
  chooseConfiguration,
  connectors,
  demoSource,
  findInstallationSecrets,
  migrateStorage,
  openConfiguredKeyring,
  openReferences,
  openStorage,
  readConfiguration,
  readSecrets,
  watchConfiguration,
  watchVault,
  whileReachable,
} from '@belay/operations';
import type { Closing } from '@belay/program';
import { clock, delay, machine, oneLine, randomBytes, readProgram, StartError } from '@belay/program';
import { openLanguageModel } from '@belay/providers';
import { createWaker, openQueueBackend, QueueTablesHeld } from '@belay/worker';
import { createExpressionPool } from '@belay/workflow';
import { createMeters } from '../meters.js';
import { createOutbound } from '../outbound.js';
import type { DemoComposer, DemoOptions } from './demo.js';
import { type ServeOptions, serve } from './serve.js';

export interface StartOptions {
  environment: Environment;
  /** The values of `${env:NAME}` in a configuration. */
  variables: Record<string, string | undefined>;
  /** Where `belay.yaml` and `config/` are looked for. */
  directory: string;
  log: Logger;
  /** The demo, which runs without a configuration; when it is undefined, such a start fails. */
  openDemo?: (() => Promise<DemoComposer>) | undefined;
}

export interface RunningServer {
  /** The address that people open; undefined in a worker process. */
  baseUrl: string | undefined;
  program: { version: string; revision: string };
  /** The path of the configuration, `demo`, or `stored` for the one that other processes applied. */
  configuration: string;
  providers: { id: string; type: string }[];
  /** The people who can sign in to the demo; undefined without the demo. */
  people: { name: string; email: string; groups: readonly string[] }[] | undefined;
  /** The services in use, in words, without credentials. */
  database: string;
  queue: 'redis' | 'postgres';
  worker: Environment['worker'];
  /** Reloads the configuration now. */
  reload(): Promise<void>;
  /** Stops accepting work, lets work in progress finish, and stops everything that was started. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Composes server mode (docs/architecture.md, section 3): database, catalog, queue, HTTP and worker, as set in the environment.
 * Everything that it starts is added to `closing`, so that a failed start leaves nothing running. Throws `StartError`.
 */
export async function composeServer(options: StartOptions, closing: Closing): Promise<RunningServer> {
  const { environment, log } = options;
  const { dataDirectory } = environment;
  const storage = await openStorage({ databaseUrl: environment.databaseUrl, dataDirectory, log, randomBytes, delay });
  closing.add('the database', storage.close);
  const { embedded } = storage;
  const { secret: given, previousSecrets: previous } = environment;
  const required = () => readSecrets({ given, previous, embedded, dataDirectory, randomBytes });
  const reachable = <T>(step: () => Promise<T>) => whileReachable({ url: storage.url, delay }, step);
  const { closed, outsiders } = await migrateStorage(storage.url);
  if (!closed)
    log.warn({}, `other users of the database server can connect to ${nameOf(storage.url)}; see belay doctor`);
  for (const { pid, login } of outsiders) {
    const cure = `end it as an administrator: select pg_terminate_backend(${pid})`;
    log.warn({}, `the session ${pid} of the login "${login}" was opened before the database was closed to it; ${cure}`);
  }
  const { db, waited, close } = openDatabase(storage.url);
  closing.add('the connections to the database', () => close());
  // Before rows of a restored database can cause a grant.
  await reachable(() => noticeRestore({ db, log }));

  const baseUrl = environment.worker === 'only' ? undefined : await chooseBaseUrl(options);
  const choose = () =>
    chooseConfiguration(db, {
      asked: environment.configuration,
      directory: options.directory,
      worker: environment.worker,
    });
  const choice = await reachable(choose);
  const demo =
    choice.kind === 'demo'
      ? await startDemo(options, { databaseUrl: storage.url, baseUrl: baseUrl?.public })
      : undefined;
  if (demo) closing.add('the demo', demo.close);
  const references = openReferences({ environment, variables: { ...options.variables, ...demo?.variables } });
  closing.add('the vault', references.close);
  const { resolve, follow: prepare } = references;
  const now = () => clock().getTime();
  const breathe = breatheBy(now);
  await reachable(() => applyChoice(choice, { db, connectors, references, breathe }, log));
  const open = () => openCatalog({ db, connectors, resolve, prepare, log, timing, delay, now, breathe });
  const catalog = await reachable(open).catch((cause: unknown) => {
    throw cause instanceof StartError ? cause : new StartError(oneLine(cause), { cause });
  });
  closing.add('the catalog', () => catalog.close());

  const { document } = catalog.current();
  const found = () => findInstallationSecrets(environment);
  const { keyring, encryption } = await openConfiguredKeyring({ db, document, resolve, log, required, found }, closing);
  // Two threads only where another processor remains for everything else.
  const expressions = createExpressionPool({ size: availableParallelism() > 2 ? 2 : 1 });
  closing.add('the expression evaluator', () => expressions.close());
  const { redisUrl } = environment;
  const openQueue = () => openQueueBackend({ redisUrl, databaseUrl: storage.url, log });
  const backend = await reachable(openQueue).catch((cause: unknown) => {
    throw cause instanceof QueueTablesHeld ? new StartError(`DATABASE_URL: ${cause.message}`, { cause }) : cause;
  });
  closing.add('the queue', () => backend.close());
  const waker = createWaker(backend, log, { now });
  closing.add('the waker', () => waker.close());
  // Only in a process that serves HTTP, because only its clients watch changes.
  const changes = baseUrl && openChanges({ databaseUrl: storage.url, log, delay });
  if (changes) closing.add('the listener for changes', () => changes.close());
  catalog.follow(changes);
  const meters = createMeters();
  closing.add('the meters', async () => meters.close());
  const obstacles = watchObstacles({ catalog, log, timeout: timing.callTimeout, now });
  const context: Context = {
    db,
    catalog,
    waker,
    keyring,
    encryption,
    vault: watchVault(references, log),
    obstacles,
    evaluate: expressions.evaluate,
    timing,
    log,
    ...machine,
    fetch: createOutbound({ allowed: () => catalog.current().httpHosts }),
    crashpoint: () => {},
    host: engineHost,
    changes,
    meter: meters,
    program: { ...(await readProgram()), baseUrl: baseUrl?.public ?? environment.baseUrl ?? '' },
    suggester: configureSuggester({ catalog, resolve, open: openLanguageModel, log, now }),
  };

  const reload = await watchChoice(choice, {
    closing,
    log,
    apply: { db, connectors, references, breathe },
    async refresh(how) {
      await catalog.refresh(how);
      if (!isDeepStrictEqual(catalog.current().document.services?.encryption, document.services?.encryption)) {
        log.warn({}, 'services.encryption changed, but this process keeps its keys; restart every process');
      }
    },
  });
  await serve({
    context,
    backend,
    environment,
    databaseUrl: storage.url,
    databaseWait: waited,
    address: baseUrl,
    meters,
    demo,
    closing,
  });
  // Not awaited, so that no provider delays the start.
  obstacles.count();
  return {
    baseUrl: baseUrl?.public,
    program: context.program,
    configuration: choice.kind === 'files' ? choice.path : choice.kind,
    providers: [...catalog.current().providers.values()].map(({ id, definition }) => ({
      id,
      type: definition.provider,
    })),
    people: demo?.people,
    database: embedded ? `embedded PostgreSQL in ${dataDirectory}` : `PostgreSQL at ${new URL(storage.url).host}`,
    queue: backend.kind,
    worker: environment.worker,
    reload,
    stop: () => closing.close(),
  };
}

/** Starts the demo instead of a configuration, if this program contains a demo. Throws `StartError`. */
async function startDemo(
  { environment, log, openDemo }: StartOptions,
  place: Pick<DemoOptions, 'databaseUrl' | 'baseUrl'>,
): Promise<ServeOptions['demo']> {
  if (openDemo === undefined) {
    throw new StartError(
      'BELAY_CONFIG is not set and there is no belay.yaml or config/ here; write one, or start the demo with npm start',
    );
  }
  const { check, start, admits, startWorker } = await openDemo();
  if (place.baseUrl !== undefined) check(environment);
  const demo = await start({ ...place, dataDirectory: environment.dataDirectory, log, randomBytes, delay });
  return { ...demo, admits, startWorker };
}

function nameOf(url: string): string {
  return decodeURIComponent(new URL(url).pathname.slice(1));
}

/** Returns the port to listen on, and the address that people open: `BELAY_BASE_URL`, or one from host and port. */
async function chooseBaseUrl({ environment }: StartOptions): Promise<{ public: string; port: number }> {
  const port = environment.port === 0 ? await findFreePort(environment.host) : environment.port;
  const host = ['0.0.0.0', '::'].includes(environment.host) ? '127.0.0.1' : environment.host;
  const authority = host.includes(':') ? `[${host}]` : host;
  return { public: environment.baseUrl ?? `http://${authority}:${port}`, port };
}

interface ApplyTools {
  db: Parameters<typeof applyConfiguration>[1]['db'];
  connectors: typeof connectors;
  references: References;
  breathe: Breathe;
}

async function applyChoice(choice: ConfigurationChoice, tools: ApplyTools, log: StartOptions['log']): Promise<void> {
  if (choice.kind === 'stored') return;
  const source = choice.kind === 'demo' ? demoSource : undefined;
  try {
    const { warnings } = await applyConfiguration(await readConfiguration(choice.path, tools.breathe), {
      ...tools,
      source,
    });
    warn(log, warnings);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const [first, ...others] = error.messages;
    const more = others.length === 0 ? '' : ` (and ${others.length} more: see belay validate)`;
    throw new StartError(`${first}${more}`, { cause: error });
  }
}

function warn(log: StartOptions['log'], warnings: readonly string[]): void {
  for (const warning of warnings) log.warn({}, `the configuration is active, with a warning: ${warning}`);
}

/** Applies each change of the files as one new version, or logs why it is rejected. Returns a function that reloads now. */
async function watchChoice(
  choice: ConfigurationChoice,
  options: {
    closing: Closing;
    log: StartOptions['log'];
    apply: ApplyTools;
    refresh(options: { reread: boolean }): Promise<void>;
  },
): Promise<() => Promise<void>> {
  const { closing, log, apply, refresh } = options;
  if (choice.kind === 'stored') {
    return () =>
      refresh({ reread: true }).catch((error: unknown) => log.error({ error }, 'the secrets could not be reloaded'));
  }
  const source = choice.kind === 'demo' ? demoSource : undefined;
  const refuse = (messages: readonly string[]) => {
    for (const message of messages)
      log.error({}, `the configuration was rejected and the previous one stays active: ${message}`);
  };
  const watch = await watchConfiguration(choice.path, {
    log,
    delay,
    breathe: apply.breathe,
    refuse,
    async apply(configuration) {
      try {
        const { version, applied, warnings } = await applyConfiguration(configuration, { ...apply, source });
        // Also without a new version, because referenced secrets can have changed.
        await refresh({ reread: true });
        if (!applied) return;
        log.info({ version }, 'the configuration changed and is active');
        warn(log, warnings);
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error;
        refuse(error.messages);
      }
    },
  });
  closing.add('the watch on the configuration', watch.close);
  return watch.reload;
}
