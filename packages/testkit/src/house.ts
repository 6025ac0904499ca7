import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type ActorContext,
  applyCatalog,
  type Context,
  createKeyring,
  engineHost,
  type Job,
  type LiveCatalog,
  openCatalog,
  type ResolveReference,
  timing,
  type UserActor,
  upsertUser,
  withActor,
} from '@belay/core';
import { clock, randomBytes as machineBytes } from '@belay/program';
import { type Connector, type ConnectorRegistry, createRegistry } from '@belay/providers';
import { createMemoryConnector, createMemoryProvider, type MemoryProvider } from '@belay/providers/testkit';
import { createExpressionPool } from '@belay/workflow';
import { z } from 'zod';
import { createTestDatabase, type TestDatabase } from './database.js';
import { sweepAll } from './sweep.js';

export interface House extends AsyncDisposable {
  database: TestDatabase;
  ctx: Context;
  catalog: LiveCatalog;
  provider: MemoryProvider;
  /** The connectors of its catalogs, for a test that acts as a second process. */
  connectors: ConnectorRegistry;
  /** The jobs that were sent, for tests of jobs; the house itself does not need them. */
  jobs: Job[];
  /** Signs a person in. */
  person(name: string, groups?: string[]): Promise<ActorContext & { actor: UserActor }>;
  operator(): ActorContext;
  /** Does everything that is due, as workers would, until nothing is due. */
  work(): Promise<void>;
  /** Moves the clock on, then works. */
  pass(milliseconds: number): Promise<void>;
  applyCatalog(document: unknown): Promise<void>;
}

/** Returns a UUIDv7, as the composition root makes them. */
export function newId(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

export interface HouseOptions {
  catalog?: unknown;
  people?: string[];
  timing?: Partial<Context['timing']>;
  connectors?: Connector[];
  /** The stopped clock's first time; null leaves the real one running. */
  time?: string | null;
  log?: Context['log'];
  /** Resolves references in the catalog; by default every reference is undefined. */
  resolve?: ResolveReference;
  /** Whether the database must be one that no test has used before (`createTestDatabase`). */
  fresh?: boolean;
}

/** Opens the core on a real database, with a memory provider and a clock that is stopped until a test moves it. */
export async function createHouse(options: HouseOptions = {}): Promise<House> {
  const database = await createTestDatabase({ fresh: options.fresh ?? false });
  const time = options.time === undefined ? '2026-03-01T10:00:00.000Z' : options.time;
  if (time) await database.setTime(time);
  const names = options.people ?? ['ada', 'grace', 'alan', 'mallory'];
  const provider = createMemoryProvider({
    now: () => new Date(0),
    people: names.map((name) => ({ id: `${name}@example.com`, name, email: `${name}@example.com` })),
  });
  const connectors = createRegistry([
    createMemoryConnector(provider) as Connector,
    loginConnector,
    ...(options.connectors ?? []),
  ]);
  const resolve = options.resolve ?? (() => undefined);
  const log = options.log ?? quiet;
  await applyCatalog(
    database.db,
    { document: withLogin(options.catalog ?? approvalCatalog()), source: 'test' },
    { connectors, resolve },
  );
  const delay: Context['delay'] = async (milliseconds, signal) =>
    void (await wait(milliseconds, undefined, { signal }));
  const times = { ...timing, ...options.timing };
  const catalog = await openCatalog({ db: database.db, connectors, resolve, log, timing: times, delay, now: Date.now });
  const pool = createExpressionPool();
  const jobs: Job[] = [];
  const ctx: Context = {
    db: database.db,
    catalog,
    waker: { wake: (sent) => void jobs.push(...sent) },
    keyring: createKeyring(['a secret for tests that is long enough']),
    evaluate: pool.evaluate,
    timing: times,
    log,
    newId,
    randomBytes: machineBytes,
    clock,
    delay,
    fetch: (request) => fetch(request),
    crashpoint: () => {},
    host: engineHost,
    program: { version: '0.1.0', revision: 'test', baseUrl: 'http://127.0.0.1:8080' },
  };
  const work = () => sweepAll(ctx, 50);
  return {
    database,
    ctx,
    catalog,
    provider,
    connectors,
    jobs,
    async person(name, groups = []) {
      const told = { provider: 'login', subject: name, email: `${name}@example.com`, name, groups };
      const loginId = newId();
      const id = (await signInNew(database, told, loginId)) ?? (await signInAgain(database, told, loginId));
      return withActor(ctx, { kind: 'user', ...told, id, loginId, by: 'browser' });
    },
    operator: () => withActor(ctx, { kind: 'operator', name: 'test' }),
    work,
    async pass(milliseconds) {
      await database.advance(milliseconds);
      await work();
    },
    async applyCatalog(document) {
      await applyCatalog(database.db, { document: withLogin(document), source: 'test' }, { connectors, resolve });
      await catalog.refresh();
    },
    async [Symbol.asyncDispose]() {
      await catalog.close();
      await pool.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

type Told = Omit<Parameters<typeof upsertUser>[1], 'id'>;

/** The columns of a login that lasts however far a test moves the clock. */
const loginColumns = 'secret_hash, id, user_id, kind, provider, subject, expires_at';

/**
 * Inserts in one statement a new person, as `upsertUser` does, and their login. Returns undefined for a known person, and for an
 * address that is not a plain one at example.com, because folding could change it.
 */
async function signInNew({ sql }: TestDatabase, told: Told, loginId: string): Promise<string | undefined> {
  const { provider, subject, email, name } = told;
  if (!/^[a-z0-9-]+@example\.com$/.test(email)) return undefined;
  const groups = sql.json(told.groups);
  const [made] = await sql<{ id: string }[]>`
    with given as (
      select ${newId()}::uuid as id, ${provider}::text as provider, ${subject}::text as subject, ${email}::text as email,
        ${name}::text as name, ${groups}::jsonb as groups
    ), person as (
      insert into users (id, provider, subject, email, name, groups)
      select id, provider, subject, email, name, groups from given
      on conflict (provider, subject) do nothing returning id
    ), identity as (
      insert into user_identities (provider, subject, user_id, email, email_folded, name, groups, organizations)
      select provider, subject, id, email, email, name, groups, groups from person join given using (id)
    )
    insert into logins (${sql.unsafe(loginColumns)})
    select ${newId()}, ${loginId}, id, 'token', provider, subject, '2999-01-01' from person join given using (id)
    returning user_id as id`;
  return made?.id;
}

async function signInAgain(database: TestDatabase, told: Told, loginId: string): Promise<string> {
  const { id } = await upsertUser(database.db, { id: newId(), ...told });
  await database.sql`
    insert into logins (${database.sql.unsafe(loginColumns)})
    values (${newId()}, ${loginId}, ${id}, 'token', ${told.provider}, ${told.subject}, '2999-01-01')`;
  return id;
}

/** The provider that the people of a house sign in at; it is never called. */
const loginConnector: Connector = {
  type: 'login',
  description: 'The provider that the people of the tests are known at',
  capabilities: ['authenticator'],
  config: z.strictObject({}),
  create: () => ({ check: async () => {}, close: async () => {} }),
};

/** Returns the catalog with the provider that the people of the house sign in at, unless it has one. Its groups are trusted. */
export function withLogin(document: unknown): unknown {
  if (typeof document !== 'object' || document === null || !('providers' in document)) return document;
  const login = { provider: 'login', groups: 'all', trusted_email_domains: ['example.com'] };
  return { ...document, providers: { login, ...(document.providers as object) } };
}

/** Returns a workflow document with these tasks. */
export function workflowOf(name: string, tasks: unknown[], more: object = {}): object {
  return { document: { dsl: '1.0.3', namespace: 'test', name, version: '1.0.0' }, do: tasks, ...more };
}

const grantAndHold = [{ grant: { call: 'access.grant' } }, { hold: { call: 'access.hold' } }];

/** Returns tasks that request a decision from the group approvers, and grant and hold access when they approve. */
export function approvalTasks(stage: object = {}): unknown[] {
  const stages = [{ approvers: { groups: ['approvers'] }, ...stage }];
  return [
    { validate: { call: 'access.validate' } },
    { approve: { call: 'access.approve', with: { stages } } },
    { decide: { switch: [{ refused: { when: '${ .approved == false }', then: 'end' } }] } },
    ...grantAndHold,
  ];
}

/** Returns a catalog with one provider and one role, with a workflow that requires approval and one without. */
export function approvalCatalog(changes: { tasks?: unknown[]; role?: object } = {}): object {
  return {
    providers: { memory: { provider: 'memory', description: 'A provider in memory' } },
    roles: {
      reader: {
        description: 'May read',
        providers: ['memory'],
        workflows: ['approved', 'automatic'],
        inherits: ['memory:read'],
        permissions: { groups: ['engineers'] },
        max_duration: 'PT8H',
        default_duration: 'PT1H',
        ...changes.role,
      },
    },
    workflows: {
      approved: { description: 'Asks first', workflow: workflowOf('approved', changes.tasks ?? approvalTasks()) },
      automatic: { description: 'Grants without approval', workflow: workflowOf('automatic', grantAndHold) },
    },
  };
}
