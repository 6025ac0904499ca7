import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serverRouter } from '@belay/api';
import {
  applyCatalog,
  type Context,
  createKeyring,
  createLogin,
  engineHost,
  openCatalog,
  openChanges,
  type ResolveReference,
  timing,
  upsertUser,
} from '@belay/core';
import { startDemoIdentityProvider } from '@belay/demo';
import { clock, delay, randomBytes as machineBytes, newId } from '@belay/program';
import {
  type Connector,
  createRegistry,
  oauth2Connector,
  oidcConnector,
  samlConnector,
  slackConnector,
} from '@belay/providers';
import { createMemoryConnector, createMemoryProvider, type MemoryProvider } from '@belay/providers/testkit';
import { createMeters, type Limits } from '@belay/server/composition';
import { createExpressionPool } from '@belay/workflow';
import { parse } from 'yaml';
import { createTestDatabase, type TestDatabase } from './database.js';
import { attach, keepLines, type LogLine, type Served } from './serve.js';
import { sweepAll } from './sweep.js';

export const people = {
  requester: { subject: 'u-rita', email: 'rita@example.test', name: 'Rita', groups: ['engineers'] },
  approver: { subject: 'u-adam', email: 'adam@example.test', name: 'Adam', groups: ['approvers'] },
  bystander: { subject: 'u-bo', email: 'bo@example.test', name: 'Bo', groups: [] },
} as const;
export type Person = keyof typeof people;

const approveAndGrant: unknown = parse(`
document: { dsl: 1.0.3, namespace: test, name: approve-and-grant, version: 1.0.0 }
do:
  - validate: { call: access.validate }
  - approve:
      call: access.approve
      with: { stages: [{ approvers: { groups: [approvers] }, count: 1, timeout: PT1H }] }
  - decide:
      switch:
        - approved: { when: .approved == true, then: grant }
        - denied: { then: end }
  - grant: { call: access.grant }
  - hold: { call: access.hold }
`);

/**
 * Returns a configuration with everything that the interface shows: a provider of each kind, a role for some people,
 * and a role that no person here can see.
 */
function configuration(idp: { issuer: string; client_id: string; client_secret: string }) {
  return {
    providers: {
      demo: {
        name: 'Demo <identity> provider',
        description: 'Where people sign in',
        provider: 'oidc',
        groups: 'all',
        config: {
          ...idp,
          scopes: ['openid', 'profile', 'email', 'groups'],
          groups_claim: 'groups',
          allow_insecure_issuer: true,
        },
      },
      store: {
        name: 'Store',
        description: 'Where access is granted',
        provider: 'memory',
        dynamic: {
          permissions: { allow: ['logs.*'], deny: ['logs.delete'] },
          groups: { allow: ['read'] },
          workflows: ['approve-and-grant'],
          requesters: { groups: ['engineers'] },
          max_duration: 'PT2H',
        },
      },
      hidden: { provider: 'memory', permissions: { groups: ['others'] } },
    },
    roles: {
      reader: {
        description: 'Read the store',
        providers: ['store'],
        inherits: ['store:read'],
        workflows: ['approve-and-grant'],
        permissions: { groups: ['engineers'] },
        max_duration: 'PT1H',
        default_duration: 'PT15M',
      },
      secret: {
        providers: ['store'],
        inherits: ['store:write'],
        workflows: ['approve-and-grant'],
        permissions: { groups: ['others'] },
      },
    },
    workflows: { 'approve-and-grant': { description: 'One approval', workflow: approveAndGrant } },
  };
}

export interface World extends Served {
  context: Context;
  /** The database, with the clock that sets the times of all rows. */
  database: TestDatabase;
  store: MemoryProvider;
  lines: LogLine[];
  /** Signs a person in and returns the token: of a browser, which also works as a cookie, or of a program. */
  token(person: Person, kind?: 'browser' | 'device'): Promise<string>;
  /** Does everything that is due, as workers would, until nothing is due. */
  drive(): Promise<void>;
}

/** Returns the whole server without its queue: real core, real PostgreSQL, a real OpenID provider, on ports of its own. */
export async function createWorld(
  options: {
    limits?: Partial<Limits>;
    https?: boolean;
    timing?: Partial<Context['timing']>;
    server?: object;
    change?: (document: ReturnType<typeof configuration>) => object;
    resolve?: ResolveReference;
    connectors?: Connector[];
    /** True to do due work at once, as workers would; otherwise only `drive` does it. */
    work?: boolean;
  } = {},
): Promise<World> {
  const { lines, log } = keepLines();
  const database = await createTestDatabase();
  const server = createServer();
  const url = await listen(server);
  const baseUrl = options.https === true ? 'https://belay.example.test' : url;
  const client = { client_id: 'belay', client_secret: randomBytes(24).toString('hex') };
  const idp = await startDemoIdentityProvider({
    port: 0,
    host: '127.0.0.1',
    people: Object.values(people).map((person) => ({ ...person, groups: [...person.groups] })),
    clients: [{ ...client, redirect_uris: [`${baseUrl}/api/v1/auth/callback/demo`] }],
    cookieKeys: [randomBytes(24).toString('hex')],
    log: () => {},
  });
  const store = createMemoryProvider({ now: clock, roles: [{ name: 'read', arn: 'store:read', description: 'Read' }] });
  const connectors = createRegistry([
    oauth2Connector,
    oidcConnector,
    samlConnector,
    slackConnector as Connector,
    createMemoryConnector(store),
    ...(options.connectors ?? []),
  ]);
  const resolve = options.resolve ?? (() => undefined);
  const document = {
    server: options.server ?? {},
    ...(options.change ?? ((same) => same))(configuration({ issuer: idp.issuer, ...client })),
  };
  await applyCatalog(database.db, { document, source: 'test' }, { connectors, resolve });
  const catalog = await openCatalog({ db: database.db, connectors, resolve, log, timing, delay, now: Date.now });
  const expressions = createExpressionPool();
  let working: Promise<void> = Promise.resolve();
  const driveAtOnce = () => {
    working = working.then(drive).catch((error: unknown) => log.error({ error }, 'what is due could not be done'));
  };
  const changes = openChanges({ databaseUrl: database.url, log, delay });
  const meters = createMeters();
  const context: Context = {
    db: database.db,
    catalog,
    waker: { wake: () => void (options.work === true && driveAtOnce()) },
    keyring: createKeyring([randomBytes(32).toString('hex')]),
    evaluate: expressions.evaluate,
    timing: { ...timing, ...options.timing },
    changes,
    meter: meters,
    log,
    newId,
    randomBytes: machineBytes,
    clock,
    delay,
    fetch: () => Promise.reject(new Error('Nothing leaves this machine')),
    crashpoint: () => {},
    host: engineHost,
    program: { version: '0.1.0', revision: 'test', baseUrl },
  };
  const drive = () => sweepAll(context, 1_000);
  const { limits } = options;
  const served = attach(server, {
    context,
    router: serverRouter,
    url,
    baseUrl,
    log,
    lines,
    limits,
    meters,
    databaseWait: database.waited,
  });
  return {
    ...served,
    context,
    database,
    store,
    async token(person, kind = 'browser') {
      const { subject, email, name, groups } = people[person];
      const known = { id: newId(), provider: 'demo', subject, email, name, groups: [...groups] };
      const made = await createLogin(context, { user: await upsertUser(database.db, known), kind });
      return made.token;
    },
    async drive() {
      await working;
      await drive();
    },
    async [Symbol.asyncDispose]() {
      await served[Symbol.asyncDispose]();
      await working;
      meters.close();
      await Promise.all([idp.close(), catalog.close(), expressions.close(), changes.close()]);
      await database[Symbol.asyncDispose]();
    },
  };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
