import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  answerLeftover,
  beginRestore,
  compareRestored,
  noticeRestore,
  openRestore,
  readRestore,
  skipProvider,
} from '@belay/core';
import { migrateDatabase, openDatabase } from '@belay/db';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@belay/embedded-postgres';
import { machine } from '@belay/program';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { access, ask, type Cast, minute, openCast } from './support/stories.js';

const ada = 'ada@example.com';
const automatic = { workflow: 'automatic', duration: 'PT8H' };

describe('a restore that was not announced', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast();
    expect(await notice()).toBe(false);
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const notice = () => noticeRestore(cast.house.ctx);
  const compare = () => compareRestored(cast.house.ctx, AbortSignal.timeout(20_000));
  const status = () => readRestore(cast.house.operator());
  const holds = () => cast.house.provider.holds(ada, access);
  const entries = async () => {
    const rows = await cast.house.database.sql`select type from ledger where type like 'restore.%' order by seq`;
    return rows.map(({ type }) => type);
  };
  /** Makes the database look restored: the row then contains an earlier timeline. */
  const elsewhere = () => cast.house.database.sql`update clusters set timeline = timeline - 1`;

  it.each([
    ['timeline', 'timeline - 1', /is on timeline \d+, and was on \d+/],
    ['system', `'7000000000000000000'`, /another cluster/],
    ['database', `'1'`, /created again/],
  ])('is noticed by its %s, by one of several processes', async (column, value, reason) => {
    await cast.house.database.sql.unsafe(`update clusters set ${column} = ${value}`);
    const seen = await Promise.all([notice(), notice(), notice()]);
    expect(seen.filter(Boolean)).toHaveLength(1);
    expect(await notice()).toBe(false);
    expect(await status()).toMatchObject({ closed_since: expect.any(String), reason: expect.stringMatching(reason) });
    expect(await entries()).toEqual(['restore.noticed']);
  });

  it('grants nothing until every provider was compared, and then goes on by itself', async () => {
    await elsewhere();
    await notice();
    await ask(cast.house, cast.ada, automatic);
    // Calls from before the restore may still be on their way.
    await compare();
    await cast.house.work();
    expect([holds(), (await status()).providers]).toEqual([
      false,
      [{ provider: 'memory', status: 'waiting', note: null }],
    ]);
    await cast.house.pass(minute);
    expect(holds()).toBe(false);
    await compare();
    await cast.house.work();
    expect([holds(), (await status()).closed_since]).toEqual([true, null]);
    expect(await entries()).toEqual(['restore.noticed', 'restore.ended']);
  });

  it('revokes what it granted in the time that is lost, and waits for a decision about what others did', async () => {
    cast.house.provider.put('alan@example.com', access, 'the mark of another Belay');
    await elsewhere();
    await notice();
    await ask(cast.house, cast.ada, automatic);
    await cast.house.pass(minute);
    await compare();
    await cast.house.work();
    const { leftovers } = await status();
    expect([holds(), leftovers]).toEqual([false, [expect.objectContaining({ identity: 'alan@example.com' })]]);
    const id = leftovers[0]?.id ?? '';
    await answerLeftover(cast.house.operator(), { id, answer: 'keep', reason: 'the other Belay' });
    await compare();
    await cast.house.work();
    expect([holds(), (await status()).closed_since]).toEqual([true, null]);
  });

  it('waits for a provider that does not answer, until an operator skips it', async () => {
    await elsewhere();
    await notice();
    await ask(cast.house, cast.ada, automatic);
    cast.house.provider.down = true;
    await cast.house.pass(minute);
    await compare();
    expect((await status()).providers).toMatchObject([{ provider: 'memory', status: 'failed' }]);
    await skipProvider(cast.house.operator(), { provider: 'memory', reason: 'it is gone' });
    cast.house.provider.down = false;
    await compare();
    await cast.house.work();
    expect([holds(), (await status()).closed_since]).toEqual([true, null]);
  });

  it('is not noticed after an operator has begun it, who also ends it', async () => {
    await elsewhere();
    await beginRestore(cast.house.operator(), { reason: 'the disk failed' });
    expect(await notice()).toBe(false);
    await ask(cast.house, cast.ada, automatic);
    await cast.house.pass(minute);
    await compare();
    // A second restore during the first: the one that the operator began is not over.
    await elsewhere();
    expect(await notice()).toBe(true);
    await cast.house.pass(minute);
    await compare();
    await cast.house.work();
    expect([holds(), (await status()).closed_since]).toEqual([false, expect.any(String)]);
    await openRestore(cast.house.operator());
    await ask(cast.house, cast.ada, automatic);
    expect(holds()).toBe(true);
  });

  it('does not stop a server whose database does not say where it is', async () => {
    const { sql, url } = cast.house.database;
    await sql`update clusters set timeline = timeline - 1`;
    await sql`revoke execute on function pg_control_system() from public`;
    const name = `limited_${cast.house.ctx.newId().slice(-12)}`;
    await sql.unsafe(`create role ${name} login password 'secret'`);
    await sql.unsafe(`grant select, insert, update on all tables in schema public to ${name}`);
    const limited = new URL(url);
    [limited.username, limited.password] = [name, 'secret'];
    const { db, close } = openDatabase(limited.href);
    try {
      expect(await noticeRestore({ ...cast.house.ctx, db })).toBe(false);
    } finally {
      await close();
      await sql.unsafe(`drop owned by ${name}`);
      await sql.unsafe(`drop role ${name}`);
      await sql`grant execute on function pg_control_system() to public`;
    }
    expect(await notice()).toBe(true);
  });
});

it('is noticed after a recovery of a real server, and not after its restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'belay-restored-'));
  // PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(folder, 0o755);
  const copy = (from: string, to: string) => promisify(execFile)('cp', ['-a', from, to]);
  const [dataDirectory, backup] = [join(folder, 'data'), join(folder, 'backup')];
  const lines: string[] = [];
  const log = { debug() {}, info() {}, error() {}, warn: (detail: object) => void lines.push(JSON.stringify(detail)) };
  const noticed = async (url: string) => {
    const { db, close } = openDatabase(url);
    try {
      return await noticeRestore({ db, log });
    } finally {
      await close();
    }
  };
  let server: EmbeddedPostgres | undefined;
  try {
    server = await startEmbeddedPostgres({ dataDirectory });
    await server.ensureDatabase('belay');
    await migrateDatabase(server.url('belay'), machine);
    expect([await noticed(server.url('belay')), await noticed(server.url('belay'))]).toEqual([false, false]);
    await server.stop();
    await copy(dataDirectory, backup);

    // After a restart, the timeline is the same.
    server = await startEmbeddedPostgres({ dataDirectory });
    expect(await noticed(server.url('belay'))).toBe(false);
    await server.stop();

    // After a recovery from the backup, the server is on a new timeline.
    await rm(dataDirectory, { recursive: true });
    await copy(backup, dataDirectory);
    await writeFile(join(dataDirectory, 'postgres', 'recovery.signal'), '');
    server = await startEmbeddedPostgres({ dataDirectory, settings: { restore_command: 'false' } });
    // During the recovery the server can be read, and does not report its new timeline yet.
    const { url } = server;
    await expect.poll(() => noticed(url('belay'))).toBe(true);
    expect(await noticed(url('belay'))).toBe(false);
    expect(lines).toEqual([expect.stringContaining('timeline 2, and was on 1')]);
    await server.stop();
  } finally {
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
