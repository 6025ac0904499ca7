import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type ActorContext,
  applyCatalog,
  type Context,
  createKeyring,
  createLogin,
  engineHost,
  type Job,
  openCatalog,
  timing,
  type UserActor,
  upsertUser,
  withActor,
} from '@belay/core';
import { migrateDatabase, openDatabase } from '@belay/db';
import { type Connector, createRegistry } from '@belay/providers';
import { createMemoryConnector, createMemoryProvider, type MemoryProvider } from '@belay/providers/testkit';
import { createWaker, openQueueBackend, startWorker } from '@belay/worker';
import { createExpressionPool } from '@belay/workflow';
import postgres from 'postgres';
import { catalogWith } from './catalog.js';
import { countStatements, type StatementCount } from './statements.js';

export type Person = ActorContext & { actor: UserActor };

export interface Belay {
  ctx: Context;
  provider: MemoryProvider;
  /** A second provider, for benchmarks that make it stop responding. */
  silent: MemoryProvider;
  people: Person[];
  /** Eight, because a decision locks the row of its approver. */
  approvers: Person[];
  approver: Person;
  /** Returns the approver of a person's requests. */
  approverOf(person: Person): Person;
  auditor: Person;
  token: string;
  statements: StatementCount;
  /** A connection that is not Belay's, for what the benchmark has to know. */
  observer: postgres.Sql;
  /** Adds a listener that is called for every job, after the transaction has committed. */
  onJob(listener: (job: Job) => void): void;
  close(): Promise<void>;
}

export interface BelayOptions {
  people: number;
  redisUrl?: string;
  local?: boolean;
  /** Whether to count statements. Counting takes time, so it is done in a run that is not timed. */
  count?: boolean;
  /** Further workflows of the role `reader`. */
  workflows?: Readonly<Record<string, object>>;
  /** Called for every evaluation of an expression. */
  onEvaluation?: () => void;
  /** Called with every statement that core sends, instead of counting. */
  onStatement?: (connection: number, statement: string) => void;
}

const approvers = Array.from({ length: 8 }, (_, index) => `approver${index}`);

const log: Context['log'] = {
  debug() {},
  info() {},
  warn: (detail, message) => console.error('warn', message, detail),
  error: (detail, message) => console.error('error', message, detail),
};

/** Opens a whole Belay on a database, with memory providers and a worker in this process. */
export async function openBelay(url: string, options: BelayOptions): Promise<Belay> {
  const delay: Context['delay'] = async (milliseconds, signal) =>
    void (await wait(milliseconds, undefined, { signal }));
  await migrateDatabase(url, { clock: () => new Date(), delay });
  const statements = countStatements();
  const onStatement = options.onStatement ?? (options.count ? statements.hear : undefined);
  const database = openDatabase(url, {
    max: 20,
    // A busy machine must not end a measurement.
    statementMilliseconds: 60_000,
    ...(onStatement ? { onStatement } : {}),
  });
  const observer = postgres(url, { max: 1, onnotice() {} });
  const names = Array.from({ length: options.people }, (_, index) => `person${index}`);
  const accounts = [...names, ...approvers, 'auditor'].map((name) => {
    const email = `${name}@example.com`;
    return { id: email, name, email };
  });
  const provider = createMemoryProvider({ now: () => new Date(), people: accounts });
  const silent = createMemoryProvider({ now: () => new Date(), people: accounts });
  const connectors = createRegistry([
    createMemoryConnector(provider) as Connector,
    { ...createMemoryConnector(silent), type: 'silent' } as Connector,
  ]);
  const resolve = () => undefined;
  await applyCatalog(
    database.db,
    { document: catalogWith(options.workflows), source: 'bench' },
    { connectors, resolve },
  );
  const catalog = await openCatalog({ db: database.db, connectors, resolve, log, timing, delay, now: Date.now });
  const pool = createExpressionPool();
  const queue = { databaseUrl: url, log, ...(options.redisUrl ? { redisUrl: options.redisUrl } : {}) };
  const backend = await openQueueBackend(queue);
  const waker = createWaker(backend, log);
  const listeners: ((job: Job) => void)[] = [];
  const ctx: Context = {
    db: database.db,
    catalog,
    waker: {
      ...waker,
      wake(jobs) {
        waker.wake(jobs);
        for (const job of jobs) for (const listener of listeners) listener(job);
      },
    },
    keyring: createKeyring(['a secret of the benchmark, long enough']),
    evaluate: (...call) => {
      options.onEvaluation?.();
      return pool.evaluate(...call);
    },
    timing,
    log,
    newId,
    randomBytes: (size) => randomBytes(size),
    clock: () => new Date(),
    delay,
    fetch: (request) => fetch(request),
    crashpoint: () => {},
    host: engineHost,
    program: { version: '0.1.0', revision: 'bench', baseUrl: 'http://127.0.0.1:8080' },
  };
  // With `local: false` the worker has a backend of its own, so that jobs go through the queue as to another process.
  const workers = options.local === false ? await openQueueBackend(queue) : backend;
  const worker = await startWorker({ context: ctx, backend: workers });
  const people: Person[] = [];
  for (let from = 0; from < names.length; from += 20) {
    const some = names.slice(from, from + 20).map((name) => signIn(ctx, name, ['engineers']));
    people.push(...(await Promise.all(some)));
  }
  const deciding = await Promise.all(approvers.map((name) => signIn(ctx, name, ['approvers'])));
  const { actor } = await signIn(ctx, 'auditor', ['auditors']);
  // An auditor has to sign in with a browser: a token gives no oversight.
  const auditor = withActor(ctx, { ...actor, by: 'browser' as const });
  const [first] = people;
  const [approver] = deciding;
  if (!first || !approver) throw new Error('The benchmark needs people');
  const places = new Map(people.map((person, index) => [person.actor.id, index]));
  const { token } = await createLogin(ctx, { user: first.actor, kind: 'device' });
  return {
    ctx,
    provider,
    silent,
    people,
    approvers: deciding,
    approver,
    approverOf: ({ actor }) => deciding[(places.get(actor.id) ?? 0) % deciding.length] ?? approver,
    auditor,
    token,
    statements,
    observer,
    onJob: (listener) => void listeners.push(listener),
    async close() {
      await worker.stop();
      await waker.close();
      if (workers !== backend) await workers.close();
      await backend.close();
      await catalog.close();
      await pool.close();
      await database.close();
      await observer.end();
    },
  };
}

async function signIn(ctx: Context, name: string, groups: string[]): Promise<Person> {
  const user = await upsertUser(ctx.db, {
    id: newId(),
    // A provider that is not in the catalog, as for a person for whom an operator created a token.
    provider: 'operator',
    subject: name,
    email: `${name}@example.com`,
    name,
    groups,
  });
  const { loginId } = await createLogin(ctx, { user, kind: 'browser' });
  return withActor(ctx, { kind: 'user' as const, ...user, loginId });
}

/** Returns a UUID of version 7. It is made here so that an older Belay is measured with the same code. */
function newId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
