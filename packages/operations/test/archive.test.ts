import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { type ArchiveFiles, archiveLedger, beginRestore, deleteArchived, getExecution, readMetrics } from '@belay/core';
import { openArchiveFolder, verifyArchives } from '@belay/operations';
import { approvalCatalog, createHouse, type House } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const day = 24 * 60 * 60_000;

let house: House;
let folder: string;
let files: ArchiveFiles;

beforeEach(async () => {
  const server = { retention: { ledger: 'P400D' } };
  house = await createHouse({ catalog: { ...approvalCatalog(), server }, time: '2026-03-15T10:00:00.000Z' });
  folder = await mkdtemp(join(tmpdir(), 'belay-archive-'));
  files = openArchiveFolder(folder, randomUUID);
  // The entries that the house wrote at its start do not matter here.
  await house.database.sql`truncate ledger`;
});
afterEach(async () => {
  await house[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** Writes entries at these times, about an execution if one is given. */
async function write(times: readonly string[], about: { executionId?: string; message?: string } = {}): Promise<void> {
  const { executionId = null, message = 'happened' } = about;
  for (const at of times)
    await house.database.sql`
      insert into ledger (at, type, level, message, actor, execution_id, data)
      values (${at}, 'test', 'info', ${message}, '{"system": "test"}', ${executionId}, '{"b": 1, "a": [2.50]}')`;
}

/** Writes many entries of one month, a second apart. */
const writeMany = (month: string, count: number) => house.database.sql`
  insert into ledger (at, type, level, message, actor)
  select ${`${month}-01T00:00:00Z`}::timestamptz + n * interval '1 second', 'test', 'info', 'number ' || n, '{"system": "test"}'
  from generate_series(1, ${count}::int) n`;

const archive = () => archiveLedger(house.operator(), files);
const pass = (days: number) => house.database.advance(days * day);
const remove = () => deleteArchived(house.ctx);
const faults = async () => (await verifyArchives(folder)).map(({ fault }) => fault);

async function left(type = 'test'): Promise<number> {
  const [row] = await house.database.sql`select count(*)::int as n from ledger where type = ${type}`;
  return row?.n as number;
}

async function linesIn(name: string): Promise<{ message: string; at: string; data: unknown }[]> {
  const text = gunzipSync(await readFile(join(folder, name))).toString();
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

it('shows in the numbers for how long a month should have been archived, until it is', async () => {
  const overdue = async () =>
    (await readMetrics(house.ctx, { uptimeMilliseconds: 0, requests: 0 })).archive_overdue_seconds;
  await write(['2026-01-10T12:00:00Z']);
  await pass(357);
  expect(await overdue()).toBe(0);
  await pass(11);
  expect(await overdue()).toBe((10 * 24 + 10) * 3_600);
  await remove();
  expect(await overdue()).toBeGreaterThan(0);
  await archive();
  await remove();
  expect(await overdue()).toBe(0);
});

describe('the archive of the ledger', () => {
  it('has every entry of every month that is over, in files that verify', async () => {
    const message = 'a line\nwith "all" \u2028 characters \\ ü 🎈';
    await write(['2026-01-31T23:59:59.999Z', '2026-02-01T00:00:00Z', '2026-02-01T00:00:00Z'], { message });
    await write(['2026-03-01T00:00:00Z']);
    const { archived, waiting } = await archive();
    expect(archived).toMatchObject([
      { month: '2026-01', rows: 1 },
      { month: '2026-02', rows: 2 },
    ]);
    expect(waiting).toEqual([]);
    const [january, february] = archived;
    expect(await linesIn(january?.file ?? '')).toMatchObject([
      { message, at: '2026-01-31T23:59:59.999Z', data: { a: [2.5], b: 1 } },
    ]);
    expect(await linesIn(february?.file ?? '')).toHaveLength(2);
    expect(await verifyArchives(folder)).toMatchObject([
      { month: '2026-01', rows: 1, fault: null },
      { month: '2026-02', rows: 2, fault: null },
    ]);
    expect((await archive()).archived).toEqual([]);
  });

  it('removes what killed processes left an hour ago, and nothing that is being written', async () => {
    await write(['2026-01-10T00:00:00Z']);
    const [old, fresh, other] = [
      'ledger-2026-01.unfinished-old',
      'ledger-2026-01.unfinished-new',
      'notes.unfinished-old',
    ];
    const twoHoursAgo = new Date(Date.now() - 2 * 60 * 60_000);
    for (const name of [old, fresh, other]) await writeFile(join(folder, name), 'half');
    for (const name of [old, other]) await utimes(join(folder, name), twoHoursAgo, twoHoursAgo);
    await archive();
    const left = (await readdir(folder)).filter((name) => name.includes('unfinished')).sort();
    expect(left).toEqual([fresh, other]);
  });

  it('says that there is no room, and leaves nothing', async () => {
    // A limit on file sizes simulates a full disk: writing fails in the middle.
    const built = new URL('../dist/index.js', import.meta.url).href;
    const script = `
      import { randomBytes } from 'node:crypto';
      import { openArchiveFolder } from ${JSON.stringify(built)};
      async function* blocks() {
        for (let n = 0; n < 200; n += 1) {
          yield { block: { rows: 1, sha256: '', first: {}, last: {} }, text: randomBytes(20_000).toString('hex') };
        }
      }
      const error = await openArchiveFolder(process.argv[1], () => 'token').write('2026-01', blocks()).catch((thrown) => thrown);
      console.log(error.name, error.message);`;
    const limited = [
      '-c',
      'ulimit -f 256; exec "$0" "$@"',
      process.execPath,
      '--input-type=module',
      '-e',
      script,
      folder,
    ];
    const { stdout } = await promisify(execFile)('bash', limited);
    expect(stdout).toMatch(/^StartError The archive cannot be written to .*EFBIG/);
    expect(await readdir(folder)).toEqual([]);
  });

  it('waits until a month has been over for a day', async () => {
    await write(['2026-03-05T00:00:00Z']);
    await house.database.setTime('2026-04-01T12:00:00Z');
    expect((await archive()).archived).toEqual([]);
    await pass(1);
    expect((await archive()).archived).toMatchObject([{ month: '2026-03', rows: 1 }]);
  });

  it('leaves out a month in which a request that is not over has entries', async () => {
    const ada = await house.person('ada', ['engineers']);
    const [row] = await house.database.sql<{ id: string }[]>`
      insert into executions (id, workflow, definition_digest, catalog_version, owner_id, input, status, state)
      values (gen_random_uuid(), 'w', 'd', 1, ${ada.actor.id}, '{}', 'waiting', '{}') returning id`;
    await write(['2026-01-10T00:00:00Z', '2026-02-10T00:00:00Z'], { executionId: row?.id ?? '' });
    await write(['2025-12-10T00:00:00Z']);
    expect(await archive()).toMatchObject({ archived: [{ month: '2025-12' }], waiting: ['2026-01', '2026-02'] });
    await house.database.sql`update executions set status = 'completed', ended_at = app_now()`;
    expect(await archive()).toMatchObject({ archived: [{ month: '2026-01' }, { month: '2026-02' }], waiting: [] });
  });

  it('does not verify with a line less, a line more, a changed line, half a file, or without its manifest', async () => {
    await write(['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z']);
    const { archived } = await archive();
    const path = join(folder, archived[0]?.file ?? '');
    const whole = await readFile(path);
    const { gzipSync } = await import('node:zlib');
    const lines = gunzipSync(whole).toString().trimEnd().split('\n');
    const broken = [
      lines.slice(0, 2),
      lines.slice(1),
      [...lines, lines[2]],
      [lines[1], lines[0], lines[2]],
      [lines[0]?.replace('happened', 'forgotten'), ...lines.slice(1)],
    ];
    for (const some of broken) {
      await writeFile(path, gzipSync(`${some.join('\n')}\n`));
      expect(await faults()).toEqual([expect.any(String)]);
    }
    for (const size of [0, 1, whole.length >> 1, whole.length - 1]) {
      await writeFile(path, whole);
      await truncate(path, size);
      expect(await faults()).toEqual([expect.any(String)]);
    }
    await writeFile(path, whole);
    expect(await faults()).toEqual([null]);
    const manifest = path.replace('.ndjson.gz', '.json');
    await rm(path);
    expect(await faults()).toEqual(['its file is missing']);
    await writeFile(path, whole);
    await rm(manifest);
    expect(await faults()).toEqual(['it has no manifest: its archive was interrupted']);
    // Archiving the same entries again repairs it. They are already recorded as archived, so the record is removed first.
    await house.database.sql`truncate archived_blocks, ledger_archives`;
    await archive();
    expect(await faults()).toEqual([null]);
  });

  it('that was killed before its record is written again, under the same name', async () => {
    await write(['2026-01-01T00:00:00Z']);
    await expect(
      archiveLedger(
        {
          ...house.operator(),
          crashpoint: () => {
            throw new Error('killed');
          },
        },
        files,
      ),
    ).rejects.toThrow('killed');
    await pass(500);
    expect(await remove()).toBe(0);
    const before = await readdir(folder);
    expect((await archive()).archived).toHaveLength(1);
    expect(await readdir(folder)).toEqual(expect.arrayContaining(before));
    expect((await readdir(folder)).filter((name) => name.includes('2026-01'))).toHaveLength(2);
  });

  it('records nothing when it cannot be written or read back, and leaves nothing under its name', async () => {
    await write(['2026-01-01T00:00:00Z']);
    const full = openArchiveFolder('/dev/full/nowhere', randomUUID);
    await expect(archiveLedger(house.operator(), full)).rejects.toThrow();
    const torn: ArchiveFiles = {
      write: (month, blocks) =>
        files.write(
          month,
          (async function* () {
            yield* blocks;
            throw new Error('no space left on the device');
          })(),
        ),
    };
    await expect(archiveLedger(house.operator(), torn)).rejects.toThrow('no space');
    const corrupting: ArchiveFiles = {
      write: (month, blocks) =>
        files.write(
          month,
          (async function* () {
            for await (const { block, text } of blocks) yield { block, text: text.replace('happened', 'forgotten') };
          })(),
        ),
    };
    await expect(archiveLedger(house.operator(), corrupting)).rejects.toThrow('cannot be read back');
    const [{ n } = { n: -1 }] = await house.database.sql`select count(*)::int as n from ledger_archives`;
    expect(n).toBe(0);
  });

  it('is recorded once when two are written at once', async () => {
    await writeMany('2026-01', 1_500);
    const done = await Promise.allSettled([archive(), archive()]);
    expect(done.some(({ status }) => status === 'fulfilled')).toBe(true);
    const blocks = await house.database.sql`select rows from archived_blocks order by first_at`;
    expect(blocks.map(({ rows }) => rows)).toEqual([1_000, 500]);
    expect(await faults()).toEqual([null]);
  });

  it('is for administrators and operators', async () => {
    const ada = await house.person('ada', ['engineers']);
    await expect(archiveLedger(ada, files)).rejects.toMatchObject({ code: 'forbidden' });
  });
});

describe('entries of the ledger', () => {
  it('are deleted when they are archived and their month has been over for the retention, and not before', async () => {
    await writeMany('2026-01', 2_100);
    await write(['2026-02-10T00:00:00Z']);
    await pass(390);
    expect(await remove()).toBe(0);
    await house.database.setTime('2026-03-15T10:00:00.000Z');
    await archive();
    await house.database.setTime('2027-03-07T00:00:00Z');
    expect(await remove()).toBe(0);
    await house.database.setTime('2027-03-09T00:00:00Z');
    expect(await remove()).toBe(2_100);
    expect([await left(), await left('ledger.deleted')]).toEqual([1, 1]);
    await pass(60);
    expect(await remove()).toBe(1);
    expect([await left(), await left('ledger.deleted'), await remove()]).toEqual([0, 2, 0]);
  });

  it.each(['P89D', 'soon'])(
    'cannot be kept for less than a quarter, or for a time that is no duration: %s',
    async (ledger) => {
      await expect(
        house.applyCatalog({ ...approvalCatalog(), server: { retention: { ledger } } }),
      ).rejects.toMatchObject({ issues: [{ path: 'server.retention.ledger' }] });
    },
  );

  it('are kept for ever without a retention', async () => {
    await write(['2026-01-01T00:00:00Z']);
    await archive();
    await house.applyCatalog(approvalCatalog());
    await pass(5_000);
    expect(await remove()).toBe(0);
  });

  it('that were written after the archive are kept, told once, and archived and deleted afterwards', async () => {
    await write(['2026-01-01T00:00:00Z', '2026-01-03T00:00:00Z']);
    await archive();
    // Entries written late by a clock that was set back: one between the two, and one after them.
    await write(['2026-01-02T00:00:00Z', '2026-01-04T00:00:00Z'], { message: 'late' });
    await pass(500);
    expect([await remove(), await remove(), await left(), await left('ledger.kept')]).toEqual([0, 0, 4, 1]);
    expect((await archive()).archived).toMatchObject([{ month: '2026-01', rows: 4 }, { month: '2026-03' }]);
    expect(await faults()).toEqual(Array((await faults()).length).fill(null));
    // The fifth entry is the one about the first archive.
    expect([await remove(), await left()]).toEqual([5, 0]);
  });

  it('that were written after the archive and after its last entry stay, while the others are deleted', async () => {
    await write(['2026-01-01T00:00:00Z']);
    await archive();
    await write(['2026-01-02T00:00:00Z']);
    await pass(500);
    expect([await remove(), await left()]).toEqual([1, 1]);
    await archive();
    expect([await remove(), await left()]).toEqual([2, 0]);
  });

  it('that were changed in the database are kept', async () => {
    await write(['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']);
    await archive();
    await house.database.sql`update ledger set message = 'forged' where at = '2026-01-01'`;
    await pass(500);
    expect([await remove(), await left()]).toEqual([0, 2]);
  });

  it('are kept while a restored database waits to be compared, and while their request is not over', async () => {
    const ada = await house.person('ada', ['engineers']);
    const [row] = await house.database.sql<{ id: string }[]>`
      insert into executions (id, workflow, definition_digest, catalog_version, owner_id, input, status, state, ended_at)
      values (gen_random_uuid(), 'w', 'd', 1, ${ada.actor.id}, '{}', 'completed', '{}', app_now()) returning id`;
    await write(['2026-01-01T00:00:00Z'], { executionId: row?.id ?? '' });
    await archive();
    await pass(500);
    await house.database.sql`
      insert into executions (id, workflow, definition_digest, catalog_version, owner_id, input, status, state, extends_id)
      values (gen_random_uuid(), 'w', 'd', 1, ${ada.actor.id}, '{}', 'waiting', '{}', ${row?.id ?? ''})`;
    expect(await remove()).toBe(0);
    await house.database.sql`update executions set status = 'completed', ended_at = app_now()`;
    await beginRestore(house.operator(), { reason: 'a restore' });
    expect(await remove()).toBe(0);
    await house.database.sql`update restores set closed_at = null`;
    expect(await remove()).toBe(1);
  });

  it('are deleted once by two workers, and whole blocks only when a worker is killed', async () => {
    await writeMany('2026-01', 3_500);
    await archive();
    await pass(500);
    let crashes = 1;
    const crashpoint = () => {
      if (crashes-- > 0) throw new Error('killed');
    };
    await expect(deleteArchived({ ...house.ctx, crashpoint })).rejects.toThrow('killed');
    expect(await left()).toBe(2_500);
    const deleted = await Promise.all([remove(), remove()]);
    expect([deleted.reduce((sum, count) => sum + count, 0), await left()]).toEqual([2_500, 0]);
    await remove();
    expect(await left('ledger.deleted')).toBe(1);
  });

  /** Makes a person and a request of theirs that ended in January. */
  const requestOver = async () => {
    const ada = await house.person('ada', ['engineers']);
    await house.database.setTime('2026-01-15T10:00:00.000Z');
    const [row] = await house.database.sql<{ id: string }[]>`
      insert into executions (id, workflow, definition_digest, catalog_version, owner_id, input, status, state, ended_at)
      values (gen_random_uuid(), 'approved', 'd', 1, ${ada.actor.id},
        '{"role": "reader", "reason": "r", "user": {"email": "ada@example.com"}}', 'completed', '{}', app_now()) returning id`;
    return { ada, id: row?.id ?? '' };
  };

  it('that changed are told to be deleted when their second archive is, and not when they are archived again', async () => {
    const { ada, id } = await requestOver();
    await write(['2026-01-15T10:00:00Z'], { executionId: id });
    await pass(100);
    await archive();
    await house.database.sql`update ledger set message = 'forged' where type = 'test'`;
    await pass(500);
    expect(await remove()).toBe(0);
    await archive();
    expect((await getExecution(ada, { id })).history).toMatchObject([{ event_type: 'test' }]);
    await remove();
    expect((await getExecution(ada, { id })).history).toMatchObject([{ event_type: 'belay.history.archived' }]);
    const told = await house.database.sql`
      select count(*)::int as n from ledger where type = 'ledger.deleted' and data ->> 'month' = '2026-01'`;
    expect(told[0]?.n).toBe(1);
  });

  it('are not told to be archived while they are kept, after a part of their archive was dropped', async () => {
    const { ada, id } = await requestOver();
    await writeMany('2026-01', 1_500);
    await write(['2026-01-01T00:00:10Z'], { executionId: id });
    await pass(100);
    await archive();
    // The second block has changed, and the first one is kept because the request goes on.
    await house.database.sql`update ledger set message = 'forged' where message = 'number 1400'`;
    await house.database.sql`
      insert into executions (id, workflow, definition_digest, catalog_version, owner_id, input, status, state, extends_id)
      values (gen_random_uuid(), 'w', 'd', 1, ${ada.actor.id}, '{}', 'waiting', '{}', ${id})`;
    await pass(500);
    expect([await remove(), (await archive()).waiting]).toEqual([0, ['2026-01']]);
    expect((await getExecution(ada, { id })).history).toMatchObject([{ event_type: 'test' }]);
    await house.database.sql`update executions set status = 'completed', ended_at = app_now()`;
    expect((await archive()).archived).toMatchObject([{ month: '2026-01', rows: 501 }]);
    await remove();
    expect(await left()).toBe(0);
  });

  it('that were deleted are named in the history of their request', async () => {
    const { ada, id } = await requestOver();
    await write(['2026-01-15T10:00:00Z'], { executionId: id });
    await pass(100);
    await archive();
    expect((await getExecution(ada, { id })).history).toMatchObject([{ event_type: 'test' }]);
    await pass(500);
    await remove();
    expect((await getExecution(ada, { id })).history).toEqual([
      {
        event_type: 'belay.history.archived',
        timestamp: '2026-02-01T00:00:00.000Z',
        message: 'Entries of the audit log before 2026-02-01 were archived and are not shown',
      },
    ]);
  });
});

it('compares the digest that the database makes with that of the lines of the file', async () => {
  await write(['2026-01-01T00:00:00Z'], { message: 'ü' });
  const { archived } = await archive();
  const lines = gunzipSync(await readFile(join(folder, archived[0]?.file ?? '')));
  expect(createHash('sha256').update(lines).digest('hex')).toBe(archived[0]?.sha256);
});
