import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeyring, open } from '@belay/core';
import { readSecrets } from '@belay/operations';
import { randomBytes } from '@belay/program';
import { openVisitor } from '@belay/testkit/visitor';
import { createWorld, people, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** Attacks on the operation of Belay: on stored data, on the settings of a start, and on what its pages and programs load. */

let world: World;
let browser: ReturnType<typeof openVisitor>;
beforeAll(async () => {
  world = await createWorld();
  browser = openVisitor(world.url);
  await browser.signIn('demo', people.requester.subject);
});
afterAll(() => world[Symbol.asyncDispose]());

/** Returns the whole content of the database as one text. */
async function dump(): Promise<string> {
  const { sql } = world.database;
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', table_schema, table_name) as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`;
  const rows = await Promise.all(tables.map(({ name }) => sql.unsafe(`select t::text as row from ${name} t`)));
  expect(tables.length).toBeGreaterThan(10);
  return rows
    .flat()
    .map(({ row }) => String(row))
    .join('\n');
}

describe('tokens in clear, without a key', () => {
  it('are nowhere in the database: not the login, not the provider’s own, not what a client holds', async () => {
    const [row] = await world.database.sql<{ sealed: string }[]>`select sealed from sessions limit 1`;
    const { tokens } = (await open(world.context.keyring, 'session', row?.sealed ?? '', world.context.clock())) as {
      tokens: Record<string, string>;
    };
    const held = [tokens.accessToken, tokens.idToken, browser.cookies.get('belay')];
    expect(held.filter((each) => (each?.length ?? 0) > 20)).toHaveLength(3);
    const text = await dump();
    expect(text).toContain(people.requester.email);
    for (const secret of held) expect(text).not.toContain(secret);
  });

  it('are not sealed at all when there is no key, or one that is too short', () => {
    expect(() => createKeyring([])).toThrow('at least one secret');
    expect(() => createKeyring(['short'])).toThrow('at least 32 characters');
  });

  it('do not open with another installation’s key', async () => {
    const [row] = await world.database.sql<{ sealed: string }[]>`select sealed from sessions limit 1`;
    const other = createKeyring([Buffer.from(randomBytes(32)).toString('hex')]);
    await expect(open(other, 'session', row?.sealed ?? '', world.context.clock())).rejects.toMatchObject({
      code: 'invalid',
    });
  });
});

describe('default secrets', () => {
  it('do not exist: each installation makes its own, which only its owner can read', async () => {
    const folders = await Promise.all([1, 2].map(() => mkdtemp(join(tmpdir(), 'belay-secret-'))));
    try {
      const made = await Promise.all(
        folders.map((dataDirectory) =>
          readSecrets({ given: undefined, previous: [], embedded: true, dataDirectory, randomBytes }),
        ),
      );
      expect(new Set(made.map(String)).size).toBe(2);
      for (const folder of folders) expect((await stat(join(folder, 'secret'))).mode & 0o777).toBe(0o600);
    } finally {
      await Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
    }
  });

  it('a start without one fails where several processes need the same, also after an earlier start left one behind', async () => {
    const dataDirectory = await mkdtemp(join(tmpdir(), 'belay-secret-'));
    const start = (embedded: boolean) =>
      readSecrets({ given: undefined, previous: [], embedded, dataDirectory, randomBytes });
    try {
      await expect(start(false)).rejects.toThrow('BELAY_SECRET is not set');
      await start(true);
      await expect(start(false)).rejects.toThrow('BELAY_SECRET is not set');
    } finally {
      await rm(dataDirectory, { recursive: true });
    }
  });
});

const sources = new URL('../../../../', import.meta.url);

async function readSources(): Promise<{ name: string; text: string }[]> {
  const folders = ['packages', 'apps'];
  // Packages that only tests use start the systems that the tests need.
  const forTests = /\/packages\/(targets|testkit)\//;
  const files = await Promise.all(
    folders.map((folder) => readdir(new URL(folder, sources), { recursive: true, withFileTypes: true })),
  );
  const code = files.flat().filter((file) => {
    const path = join(file.parentPath, file.name);
    return (
      file.isFile() &&
      path.includes('/src/') &&
      !path.includes('/node_modules/') &&
      !forTests.test(path) &&
      /\.(?:tsx?|js)$/.test(file.name)
    );
  });
  return Promise.all(
    code.map(async (file) => ({ name: file.name, text: await readFile(join(file.parentPath, file.name), 'utf8') })),
  );
}

describe('an unsigned update of itself', () => {
  it('cannot happen: nothing installs, and no code comes from anywhere but the package', async () => {
    const code = await readSources();
    expect(code.length).toBeGreaterThan(300);
    const starting = code
      .filter(({ text }) => /(?:from |getBuiltinModule\()'node:child_process'/.test(text))
      .map(({ name }) => name);
    // Only these start programs: the browser of a person at a terminal, that person's command, and the embedded database.
    expect(starting.sort()).toEqual(['open-browser.ts', 'run-program.ts', 'start-program.ts']);
    for (const { name, text } of code) {
      expect([name, /\bnew Function\b|\beval\(|from 'node:vm'|npm (?:install|update)'/.test(text)]).toEqual([
        name,
        false,
      ]);
      // Dynamic imports use literal names only.
      const loaded = [...text.matchAll(/\bimport\(\s*([^'"\s)][^)]*)\)/g)].map(([, what]) => what);
      expect([name, loaded]).toEqual([name, []]);
    }
  });
});

describe('scripts of a content delivery network', () => {
  it('are on no page: everything comes from this origin, and the browser is told so', async () => {
    const asked = await browser.visit('/elevate', { body: { role: 'reader', reason: 'x' } });
    const { execution_id: id } = asked.json.output as { execution_id: string };
    const pages = [
      ...[
        '/home',
        '/auth',
        '/roles',
        '/role/reader',
        '/providers',
        '/provider/store',
        '/workflows',
        '/access',
        '/logs',
      ],
      ...['/workflow/approve-and-grant', '/executions', `/execution/${id}`, '/approvals', '/elevate/llm', '/reference'],
    ];
    for (const path of pages) {
      const page = await browser.visit(path, { accept: 'text/html' });
      expect([path, page.status, page.headers['content-type']]).toEqual([path, 200, 'text/html; charset=utf-8']);
      const policy = String(page.headers['content-security-policy']);
      expect(policy).toMatch(/default-src 'none'.*script-src 'self'/);
      expect(policy).not.toMatch(/https?:|unsafe|\*/);
      const loaded = [...page.body.matchAll(/<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)="([^"]*)"/g)];
      expect([path, loaded.filter(([, from = '']) => !from.startsWith('/api/v1/'))]).toEqual([path, []]);
    }
  });
});
