import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type ActorContext,
  applyCatalog,
  type Context,
  createKeyring,
  createLogin,
  type Hint,
  openCatalog,
  timing,
  type UserActor,
  upsertUser,
  withActor,
} from '@belay/core';
import { migrateDatabase, openDatabase } from '@belay/db';
import { type Connector, createRegistry } from '@belay/providers';
import { createMemoryConnector, createMemoryProvider, type MemoryProvider } from '@belay/providers/testkit';
import { newId, startEmbeddedPostgres } from '@belay/server/composition';
import { createWaker, openQueueBackend, startWorker } from '@belay/worker';
import { createExpressionPool } from '@belay/workflow';
import { catalogDocument } from './catalog.js';
import { countStatements, type StatementCount } from './statements.js';

export interface Bench {
  ctx: Context;
  provider: MemoryProvider;
  people: (ActorContext & { actor: UserActor })[];
  approver: ActorContext & { actor: UserActor };
  token: string;
  statements: StatementCount;
  /** Hears every hint that is sent, after commit. */
  onHint(listener: (hint: Hint) => void): void;
  close(): Promise<void>;
}

const log: Context['log'] = {
  debug() {},
  info() {},
  warn: (detail, message) => console.error('warn', message, detail),
  error: (detail, message) => console.error('error', message, detail),
};

export interface BenchOptions {
  people: number;
  redisUrl?: string;
  local?: boolean;
  /** Listening to statements costs the client time of its own: counted in a run that is not timed. */
  count?: boolean;
}

/** One whole Belay on a durable PostgreSQL of its own, with a memory provider and an inline worker. */
export async function openBench(options: BenchOptions): Promise<Bench> {
  const folder = await mkdtemp(join(tmpdir(), 'belay-bench-'));
  const delay: Context['delay'] = async (milliseconds, signal) =>
    void (await wait(milliseconds, undefined, { signal }));
  const bytes = (size: number) => randomBytes(size);
  const postgres = await startEmbeddedPostgres({
    dataDirectory: folder,
    log() {},
    randomBytes: bytes,
    delay: (ms) => delay(ms),
  });
  await postgres.ensureDatabase('belay');
  const url = postgres.url('belay');
  await migrateDatabase(url);
  const statements = countStatements();
  const database = openDatabase(url, { max: 20, ...(options.count ? { onStatement: statements.hear } : {}) });
  const names = Array.from({ length: options.people }, (_, index) => `person${index}`);
  const provider = createMemoryProvider({
    now: () => new Date(),
    people: [...names, 'approver'].map((name) => ({ id: `${name}@example.com`, name, email: `${name}@example.com` })),
  });
  const connectors = createRegistry([createMemoryConnector(provider) as Connector]);
  await applyCatalog(
    database.db,
    { document: catalogDocument, source: 'bench' },
    { connectors, resolve: () => undefined },
  );
  const catalog = await openCatalog({ db: database.db, connectors, resolve: () => undefined, log, timing, delay });
  const pool = createExpressionPool();
  const backend = await openQueueBackend({
    databaseUrl: url,
    log,
    ...(options.redisUrl ? { redisUrl: options.redisUrl } : {}),
  });
  const waker = createWaker(backend, log);
  const listeners: ((hint: Hint) => void)[] = [];
  const ctx: Context = {
    db: database.db,
    catalog,
    waker: {
      wake(hints) {
        waker.wake(hints);
        for (const hint of hints) for (const listener of listeners) listener(hint);
      },
    },
    keyring: createKeyring(['a secret of the benchmark, long enough']),
    evaluate: pool.evaluate,
    timing,
    log,
    newId,
    randomBytes: bytes,
    clock: () => new Date(),
    delay,
    fetch: (request) => fetch(request),
    crashpoint: () => {},
    program: { version: '0.1.0', revision: 'bench', baseUrl: 'http://127.0.0.1:8080' },
  };
  const worker = await startWorker({ context: ctx, backend, local: options.local ?? true });
  const person = async (name: string, groups: string[]) => {
    const user = await upsertUser(database.db, {
      id: newId(),
      // Of no provider in the catalog: a person whom an operator made a token for.
      provider: 'operator',
      subject: name,
      email: `${name}@example.com`,
      name,
      groups,
    });
    const { loginId } = await createLogin(ctx, { user, kind: 'browser' });
    return withActor(ctx, { kind: 'user' as const, ...user, loginId });
  };
  const people = await Promise.all(names.map((name) => person(name, ['engineers'])));
  const approver = await person('approver', ['approvers']);
  const [first] = people;
  if (!first) throw new Error('The benchmark needs people');
  const { token } = await createLogin(ctx, { user: first.actor, kind: 'device' });
  return {
    ctx,
    provider,
    people,
    approver,
    token,
    statements,
    onHint: (listener) => void listeners.push(listener),
    async close() {
      await worker.stop();
      await waker.close();
      await backend.close();
      await catalog.close();
      await pool.close();
      await database.close();
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
