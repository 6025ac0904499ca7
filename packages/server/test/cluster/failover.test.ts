import { createToken } from '@belay/core';
import { openOperatorContext, parseEnvironment } from '@belay/operations';
import { type BelayClient, createClient } from '@belay/sdk';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Fifteen,
  hasFifteen,
  makeFifteenFolder,
  runFifteen,
  startFifteen,
} from '../../../providers/test/postgres/fifteen.js';
import { type Folder, makeFolder, type ServerProcess, startProcess } from '../start/server-process.js';
import { hasPooler, type Pooler, startPooler } from './pooler.js';
import { makeTarget, readerConfiguration, type Target } from './target.js';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const waiting = { timeout: 120_000, interval: 200 };

/** docs/guides/scale.md, "PostgreSQL": a pooler in session mode, and a standby that takes over. */
describe.runIf(hasFifteen() && hasPooler())('Belay behind PgBouncer, with a standby', { timeout: 300_000 }, () => {
  let primary: Fifteen;
  let standby: Fifteen;
  let pooler: Pooler;
  let target: Target;
  let folder: Folder;
  let server: ServerProcess;
  const clients: BelayClient[] = [];

  const environment = () => ({
    DATABASE_URL: pooler.url,
    BELAY_SECRET: 'the secret of a server that is only a test',
    TARGET_URL: target.url,
  });

  beforeAll(async () => {
    primary = await startFifteen({ settings: ['wal_level=replica'] });
    const admin = postgres(primary.url, { max: 1, onnotice: () => {} });
    await admin`create role belay login`;
    await admin`create database belay owner belay`;
    await admin.end();
    const belayUrl = new URL(primary.url);
    belayUrl.username = 'belay';
    belayUrl.pathname = '/belay';
    pooler = await startPooler(belayUrl.href);
    target = await makeTarget(3);
    folder = await makeFolder({ 'belay.yaml': readerConfiguration(target) });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
    await target?.[Symbol.asyncDispose]();
    await pooler?.stop();
    await standby?.stop();
    await primary?.stop();
  });

  it('does not start while the pooler drops its limits, and says where to set them', async () => {
    const refused = startProcess(folder.path, environment(), 'server');
    expect(await refused.exited).toBe(1);
    expect(refused.stderr().trim().split('\n')).toHaveLength(1);
    expect(refused.stderr()).toMatch(
      /ignores the settings .*statement_timeout=4500.*database user.*docs\/guides\/scale\.md/,
    );
  });

  it('grants and revokes through the pooler once the database user has these limits', async () => {
    const admin = postgres(primary.url, { max: 1, onnotice: () => {} });
    await admin.unsafe(`
      alter role belay set statement_timeout = 4500;
      alter role belay set lock_timeout = 3600;
      alter role belay set idle_in_transaction_session_timeout = 4500;
      alter role belay set search_path = public;
    `);
    // Connections of the pooler keep the settings from when they were opened, so they are closed (RECONNECT in its console).
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'belay'`;
    await admin.end();
    server = startProcess(folder.path, environment(), 'server');
    await server.says('is ready at');
    const operator = await openOperatorContext({
      environment: parseEnvironment(environment()),
      name: 'test',
      log: quiet,
    });
    for (const identity of target.identities) {
      const { token } = await createToken(operator.context, {
        user: `${identity}@example.com`,
        groups: ['engineers'],
        ttl: 'PT1H',
      });
      clients.push(createClient({ url: /is ready at (\S+)/.exec(server.stdout())?.[1] ?? '', token }));
    }
    await operator.close();
    const [first] = clients as [BelayClient, BelayClient, BelayClient];
    const { output } = await first.elevation.request({ role: 'reader', reason: 'a test', duration: 'PT1H' });
    await first.executions.waitUntilActive(output.execution_id);
    expect(await target.members()).toEqual([target.identities[0]]);
    await first.access.return(output.execution_id);
    await expect.poll(() => target.members(), waiting).toEqual([]);
  });

  it('loses no access and leaves none behind when the standby takes over', async () => {
    standby = await openStandby(primary);
    const [first, second, third] = clients as [BelayClient, BelayClient, BelayClient];
    const request = async (client: BelayClient, duration: string) =>
      (await client.elevation.request({ role: 'reader', reason: 'a test', duration })).output.execution_id;
    const long = await request(first, 'PT1H');
    const short = await request(second, 'PT20S');
    await first.executions.waitUntilActive(long);
    await second.executions.waitUntilActive(short);

    await primary.crash();
    const promoted = postgres(standby.url, { max: 1, onnotice: () => {} });
    await promoted`select pg_promote()`;
    await promoted.end();
    const url = new URL(standby.url);
    url.username = 'belay';
    url.pathname = '/belay';
    await pooler.turnTo(url.href);

    // Acknowledged grants still exist and end in time, because revoking does not wait for the comparison.
    await expect.poll(() => target.members(), waiting).toEqual([target.identities[0]]);
    await expect.poll(() => standing(first, long), waiting).toBe('active');
    // A request before Belay has noticed would be ended by the comparison, like every earlier grant that the target does not hold.
    await server.says('the database was restored or replaced');
    // A failover can lose commits, so granting waits until the system was compared with the rows, and then continues by itself.
    const later = await request(third, 'PT1H');
    await expect.poll(() => standing(third, later), waiting).toBe('active');
    expect(await target.members()).toEqual([target.identities[0], target.identities[2]]);
    await first.access.return(long);
    await third.access.return(later);
    await expect.poll(() => target.members(), waiting).toEqual([]);
    expect(server.process.exitCode).toBeNull();
  });
});

/** Returns the state of an execution, with its last events when it is not active. */
async function standing(client: BelayClient, id: string): Promise<string> {
  const execution = await client.executions.get(id).catch((error: unknown) => String(error));
  if (typeof execution === 'string') return execution;
  const { state, history, grants } = execution;
  return state === 'active' ? state : `${state} ${JSON.stringify({ last: history.slice(-3), grants })}`;
}

/** Starts a standby of a server. The server then acknowledges a commit only when the standby has it. */
async function openStandby(primary: Fifteen): Promise<Fifteen> {
  const data = `${makeFifteenFolder()}/standby`;
  runFifteen('pg_basebackup', ['-d', primary.url, '-D', data, '-X', 'stream', '-c', 'fast', '-R']);
  const standby = await startFifteen({ data });
  const admin = postgres(primary.url, { max: 1, onnotice: () => {} });
  await admin.unsafe(`alter system set synchronous_standby_names = '*'`).simple();
  await admin`select pg_reload_conf()`;
  await expect
    .poll(async () => (await admin`select sync_state from pg_stat_replication`).map((row) => row.sync_state), waiting)
    .toEqual(['sync']);
  await admin.end();
  return standby;
}
