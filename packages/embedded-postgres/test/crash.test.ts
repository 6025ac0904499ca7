import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { makeKit, type Served, serve } from './support/kit.js';
import { query, start } from './support/start.js';
import { isAlive, postmasterOf, type TemporaryFolder, temporaryFolder } from './support/temporary-folder.js';

let tools: TemporaryFolder;
let kit: string;

beforeAll(() => {
  tools = temporaryFolder(tmpdir());
  kit = makeKit(join(tools.path, 'kit'));
});

afterAll(() => tools[Symbol.asyncDispose]());

async function processesOf(url: string): Promise<number[]> {
  return (await query<{ pid: number }>(url, 'select pid from pg_stat_activity')).map(({ pid }) => pid);
}

/** Kills (SIGKILL) the postmaster and every process that it started. */
async function killServer(data: string, url: string): Promise<void> {
  for (const pid of [...(await processesOf(url)), postmasterOf(join(data, 'postgres')) ?? 0]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The connection that listed the processes has ended itself.
    }
  }
}

function acknowledgedBy(served: Served): string[] {
  return served.said.flatMap(({ kept }) => (kept === undefined ? [] : [kept]));
}

async function missing(url: string, acknowledged: string[]): Promise<string[]> {
  const kept = new Set((await query<{ id: string }>(url, 'select id from kept')).map(({ id }) => id));
  return acknowledged.filter((id) => !kept.has(id));
}

describe('after kill -9', () => {
  it('of the Node process, the next one takes over its live server with every row', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    const served = serve(kit, { dataDirectory: data }, { write: true });
    const { url } = await served.until('started');
    await served.until('kept');
    const pid = postmasterOf(join(data, 'postgres'));
    served.child.kill('SIGKILL');
    await served.ended;
    const server = await start(data);
    expect(server.adopted).toBe(true);
    expect(server.url('postgres')).toBe(url);
    expect(postmasterOf(join(data, 'postgres'))).toBe(pid);
    expect(await missing(server.url('postgres'), acknowledgedBy(served))).toEqual([]);
  });

  it('of everything while rows are written, every acknowledged row is there after the next start', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    const acknowledged: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const served = serve(kit, { dataDirectory: data }, { write: true });
      const { url, adopted } = await served.until('started');
      expect(adopted).toBe(false);
      await vi.waitFor(() => expect(acknowledgedBy(served).length).toBeGreaterThan(50), 30_000);
      await killServer(data, url ?? '');
      served.child.kill('SIGKILL');
      await served.ended;
      acknowledged.push(...acknowledgedBy(served));
    }
    const server = await start(data);
    expect(server.adopted).toBe(false);
    expect(await missing(server.url('postgres'), acknowledged)).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(150);
  });

  it('of the postmaster alone, the next start waits until its last child has let go of the shared memory', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    const first = await start(data);
    await query(first.url('postgres'), 'create table kept as select 42 as answer');
    const sql = postgres(first.url('postgres'), { max: 1, onnotice: () => undefined, fetch_types: false });
    const [child] = await sql<Array<{ pid: number }>>`select pg_backend_pid() as pid`;
    const pid = child?.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    process.kill(postmasterOf(join(data, 'postgres')) ?? 0, 'SIGKILL');
    const starting = start(data);
    try {
      await vi.waitFor(
        () =>
          expect(readFileSync(join(data, 'postgres', 'server.log'), 'utf8')).toMatch(
            /pre-existing shared memory block/,
          ),
        20_000,
      );
    } finally {
      process.kill(pid, 'SIGKILL');
    }
    const second = await starting;
    expect(second.adopted).toBe(false);
    expect(await query(second.url('postgres'), 'select answer from kept')).toEqual([{ answer: 42 }]);
    await sql.end({ timeout: 0 });
  });

  it('in the middle of the first start, the next start makes a whole cluster and leaves nothing over', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    const served = serve(kit, { dataDirectory: data });
    await vi.waitFor(() => {
      const unfinished = readdirSync(data).find((name) => name.startsWith('postgres.new-')) ?? '';
      expect(readdirSync(join(data, unfinished, 'cluster', 'base', '1')).length).toBeGreaterThan(10);
    }, 10_000);
    served.child.kill('SIGKILL');
    await served.ended;
    expect(readdirSync(data)).toContain('postgres.lock');
    expect(readdirSync(data)).not.toContain('postgres');
    const server = await start(data);
    expect(server.adopted).toBe(false);
    expect(await query(server.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }]);
    await server.stop();
    // The initdb of the killed process may still have been running; a later start removes its files.
    await vi.waitFor(
      async () => {
        await (await start(data)).stop();
        expect(readdirSync(data).sort()).toEqual(['postgres', 'postgres.password', 'postgres.port']);
      },
      { timeout: 30_000, interval: 200 },
    );
  });
});

describe('servers that start at the same moment', () => {
  it('on a new folder share one postmaster: one starts it, the others take it over', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    const all = [1, 2, 3, 4].map(() => serve(kit, { dataDirectory: data }));
    const started = await Promise.all(all.map((served) => served.until('started')));
    expect(started.map(({ adopted }) => adopted).sort()).toEqual([false, true, true, true]);
    expect(new Set(started.map(({ url }) => url)).size).toBe(1);
    const [{ url } = {}] = started;
    expect(await query(url ?? '', 'select 1 as one')).toEqual([{ one: 1 }]);
    for (const served of all) {
      served.child.kill('SIGKILL');
    }
    await Promise.all(all.map((served) => served.ended));
  });

  it('in one process share it too, and after a crash of everything', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    const first = await start(data);
    await killServer(data, first.url('postgres'));
    const servers = await Promise.all([1, 2, 3].map(() => start(data)));
    expect(servers.map(({ adopted }) => adopted).sort()).toEqual([false, true, true]);
  });
});

describe('what a dead process left behind', () => {
  it('its lock is broken, by one of several that wait for it', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    const dead = serve(kit, { dataDirectory: join(folder.path, 'other'), port: -1 });
    await dead.ended;
    mkdirSync(data);
    writeFileSync(join(data, 'postgres.lock'), JSON.stringify({ pid: dead.child.pid, birth: 'x', token: 'y' }));
    const servers = await Promise.all([1, 2, 3].map(() => start(data)));
    expect(servers.map(({ adopted }) => adopted).sort()).toEqual([false, true, true]);
    expect(readdirSync(data)).not.toContain('postgres.lock');
    expect(readdirSync(data)).not.toContain('postgres.lock.break');
  });

  it('its lock is broken when its number now belongs to another process', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    mkdirSync(data);
    writeFileSync(
      join(data, 'postgres.lock'),
      JSON.stringify({ pid: process.pid, birth: 'an earlier boot', token: 'y' }),
    );
    expect((await start(data)).adopted).toBe(false);
  });

  it('an empty lock (killed between creating and writing it) is broken', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    mkdirSync(data);
    writeFileSync(join(data, 'postgres.lock'), '');
    expect((await start(data)).adopted).toBe(false);
  });

  it('its postmaster.pid does not stop a start when its number now belongs to another process', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    const first = await start(data);
    const file = join(data, 'postgres', 'postmaster.pid');
    const content = readFileSync(file, 'utf8');
    const pid = postmasterOf(join(data, 'postgres')) ?? 0;
    await first.stop();
    // pg_ctl returns when the pid file is gone, a moment before the process ends.
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), 30_000);
    writeFileSync(file, content.replace(/^\d+/, String(process.pid)));
    const second = await start(data);
    expect(second.adopted).toBe(false);
    expect(isAlive(process.pid)).toBe(true);
    expect(await query(second.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});
