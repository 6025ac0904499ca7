import { randomBytes } from 'node:crypto';
import { createToken } from '@belay/core';
import { openOperatorContext, parseEnvironment } from '@belay/operations';
import { type BelayClient, createClient } from '@belay/sdk';
import { serverUrl } from '@belay/testkit/database';
import { makeHostile } from '@belay/testkit/hostile-settings';
import postgres from 'postgres';
import { expect } from 'vitest';
import { makeFolder, startHere } from './server-process.js';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const waiting = { timeout: 60_000, interval: 100 };

export interface Hostile extends AsyncDisposable {
  admin: postgres.Sql;
  /** Makes a login with a password of its own, for which every default is hostile too, and returns its URL for a database. */
  login(name: string, options?: string): Promise<(database: string) => string>;
  /** Makes a database for which every default is hostile. */
  database(name: string, owner?: string): Promise<void>;
  /** Returns a name that nothing else on the server has. */
  name(what: string): string;
}

/** Makes databases and logins of the test server whose defaults change what statements mean. */
export async function openHostile(): Promise<Hostile> {
  const suffix = randomBytes(4).toString('hex');
  const admin = postgres(serverUrl(), { max: 1, onnotice: () => {} });
  const [row] = await admin<{ version: number }[]>`select current_setting('server_version_num')::int as version`;
  const poison = async (whom: string) => {
    for (const statement of makeHostile(whom, row?.version ?? 0)) await admin.unsafe(statement);
  };
  const databases: string[] = [];
  const roles: string[] = [];
  return {
    admin,
    name: (what) => `hostile_${what}_${suffix}`,
    async login(name, options = '') {
      await admin.unsafe(`create role ${name} login password '${suffix}' ${options}`);
      roles.push(name);
      await poison(`role ${name}`);
      return (database) =>
        Object.assign(new URL(serverUrl()), { username: name, password: suffix, pathname: `/${database}` }).href;
    },
    async database(name, owner) {
      await admin.unsafe(`create database ${name} ${owner === undefined ? '' : `owner ${owner}`}`);
      databases.push(name);
      await poison(`database ${name}`);
    },
    async [Symbol.asyncDispose]() {
      for (const name of databases) await admin.unsafe(`drop database ${name} with (force)`);
      for (const name of roles.reverse()) await admin.unsafe(`drop owned by ${name} cascade; drop role ${name}`);
      await admin.end();
    },
  };
}

/**
 * Runs Belay with a configuration, of which `rita` requests `reader` for ten seconds and `adam` approves it. Expects what `holds`
 * returns to become true, and false after the end, which Belay has verified.
 */
export async function tellStory(
  hostile: Hostile,
  story: { provider: string; role: string; variables: Record<string, string>; holds(): Promise<boolean> },
): Promise<void> {
  const own = hostile.name('belay');
  const urlOf = await hostile.login(own);
  await hostile.database(own, own);
  await using folder = await makeFolder({ 'belay.yaml': configurationOf(story) });
  const environment = {
    DATABASE_URL: urlOf(own),
    BELAY_SECRET: 'the secret of a server that is only a test',
    ...story.variables,
  };
  await using server = startHere(folder.path, environment);
  await server.says('is ready at');
  const operator = await openOperatorContext({ environment: parseEnvironment(environment), name: 'test', log: quiet });
  const signIn = async (name: string, group: string): Promise<BelayClient> => {
    const user = { user: `${name}@example.com`, groups: [group], ttl: 'PT1H' };
    const { token } = await createToken(operator.context, user);
    return createClient({ url: /is ready at (\S+)/.exec(server.stdout())?.[1] ?? '', token });
  };
  const [rita, adam] = [await signIn('rita', 'engineers'), await signIn('adam', 'approvers')];
  await operator.close();

  const { output } = await rita.elevation.request({ role: 'reader', reason: 'a test', duration: 'PT10S' });
  const id = output.execution_id;
  const inbox = async () => (await adam.approvals.list()).approvals[0];
  await expect.poll(inbox, waiting).toBeDefined();
  const item = await inbox();
  await adam.approvals.decide({ id: item?.id ?? '', verdict: 'approve', request_digest: item?.request_digest });
  await rita.executions.waitUntilActive(id);
  expect(await story.holds()).toBe(true);
  const { grants } = await rita.executions.get(id);
  const left = Date.parse(grants[0]?.expires_at ?? '') - Date.now();
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThan(11_000);
  await expect.poll(story.holds, waiting).toBe(false);
  await expect.poll(async () => (await rita.executions.get(id)).state, waiting).toBe('ended');
  expect((await rita.executions.get(id)).grants[0]).toMatchObject({ state: 'gone', gone_at: expect.any(String) });
}

function configurationOf({ provider, role }: { provider: string; role: string }): string {
  return `
providers:
  target:
${provider}
roles:
  reader:
    providers: [target]
    inherits: ['target:${role}']
    permissions: { groups: [engineers] }
    workflows: [read]
workflows:
  read:
    workflow:
      document: { dsl: '1.0.3', namespace: test, name: read, version: 1.0.0 }
      do:
        - approve: { call: access.approve, with: { stages: [{ approvers: { groups: [approvers] }, count: 1, timeout: PT30M }] } }
        - grant: { call: access.grant }
        - hold: { call: access.hold }
`;
}
