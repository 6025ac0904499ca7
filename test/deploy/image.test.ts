import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { findTestPort } from '@belay/testkit/ports';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readStages, root, valuesOf } from './dockerfile.js';

const exec = promisify(execFile);
const [before, build, last] = readStages();
/** An account that owns nothing on the machine that runs the test, so what it wrote can be found. */
const user = 61_234;
const revision = '0123456789abcdef0123456789abcdef01234567';

describe('the Dockerfile', () => {
  it('pins its base images, to a version that the tests run on, and lets a release name digests', () => {
    const images = valuesOf(before, 'ARG');
    expect(images).toHaveLength(2);
    // The builder gets no history, so the commit is an argument.
    expect(valuesOf(build, 'ARG')).toEqual(['REVISION']);
    for (const image of images) expect(image).toMatch(/^\w+_IMAGE=[\w/.-]+:\d+\.\d+[\w.-]*$/);
    expect(images[0]).toContain(`node:${process.versions.node.split('.')[0]}.`);
    expect([build, last].map((stage) => valuesOf(stage, 'FROM')[0])).toEqual([
      `$${'{NODE_IMAGE}'} AS build`,
      `$${'{BASE_IMAGE}'}`,
    ]);
  });

  it('runs as an account that is not root, by its number, and node is the first process', () => {
    const names = (last ?? []).map(({ name }) => name);
    expect(valuesOf(last, 'USER')).toEqual(['10001:10001']);
    expect(valuesOf(last, 'RUN')).toEqual([]);
    expect(JSON.parse(valuesOf(last, 'ENTRYPOINT')[0] ?? '')).toEqual(['node', '/app/apps/server/bundle/main.js']);
    expect(valuesOf(last, 'HEALTHCHECK')[0]).toMatch(/ CMD \["node", "\/app\/health\.mjs"\]$/);
    expect(names.indexOf('USER')).toBeGreaterThan(names.lastIndexOf('COPY'));
    expect(valuesOf(last, 'STOPSIGNAL')).toEqual(['SIGTERM']);
    expect(names).not.toContain('ADD');
    // With --chown, the process could change the files that it runs.
    for (const copied of valuesOf(last, 'COPY')) expect(copied).not.toContain('--chown');
  });

  it('sends no history, no build of this machine and no secret to the builder', async () => {
    const ignored = (await readFile(new URL('.dockerignore', root), 'utf8')).split('\n');
    for (const each of [
      '.git',
      '**/node_modules',
      '**/dist',
      '**/bundle',
      '**/.env',
      '**/*.pem',
      'deploy/compose/secrets',
    ])
      expect(ignored).toContain(each);
  });
});

describe('the image', () => {
  let folder: string;
  let app: string;
  let database: TestDatabase;
  const started: Running[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'belay-image-'));
    await chmod(folder, 0o755);
    app = join(folder, 'app');
    const [gather = ''] = valuesOf(build, 'RUN').slice(-1);
    const [program = '', ...words] = gather.split(' ').map((word) => (word === '/image' ? app : word));
    const env = { ...process.env, REVISION: revision };
    await exec(program === 'node' ? process.execPath : program, words, { cwd: fileURLToPath(root), env });
    await writeFile(join(folder, 'belay.yaml'), configuration);
    database = await createTestDatabase();
  });
  afterAll(async () => {
    for (const { child, exited } of started) {
      child.kill('SIGKILL');
      await exited;
    }
    await database[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** Starts the image as a container does: by the entry point, as another account, with no folder that it may write to. */
  function start(variables: Record<string, string>): Running {
    const [program, script = ''] = JSON.parse(valuesOf(last, 'ENTRYPOINT')[0] ?? '[]') as string[];
    expect(program).toBe('node');
    const child = spawn(process.execPath, [inside(script)], {
      cwd: app,
      ...(process.getuid?.() === 0 ? { uid: user, gid: user } : {}),
      env: {
        ...fixed(),
        BELAY_CONFIG: join(folder, 'belay.yaml'),
        DATABASE_URL: database.url,
        BELAY_SECRET: 'the secret of an image that is only a test',
        ...variables,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += String(data)));
    const exited = new Promise<number | string>((resolve) =>
      child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown')),
    );
    const running = { child, exited, said: () => said };
    started.push(running);
    return running;
  }

  const inside = (path: string) => path.replace(/^\/app/, app);

  /** Returns the image's own variables; HOME, TMPDIR and BELAY_DATA are folders that do not exist. */
  function fixed(): Record<string, string> {
    const set = valuesOf(last, 'ENV').flatMap((line) => line.split(/\s+/));
    const own = Object.fromEntries(set.map((each) => each.split('=') as [string, string]));
    return { ...own, HOME: '/nonexistent', TMPDIR: '/nonexistent', BELAY_DATA: '/nonexistent' };
  }

  async function health(variables: Record<string, string>): Promise<number> {
    const [, command = ''] = / CMD (\[.*\])$/.exec(valuesOf(last, 'HEALTHCHECK')[0] ?? '') ?? [];
    const [, script = ''] = JSON.parse(command) as string[];
    return exec(process.execPath, [inside(script)], { env: { ...fixed(), ...variables } }).then(
      () => 0,
      ({ code }: { code: number }) => code,
    );
  }

  it('has less than 250 MB: what is copied, Node.js, and the 75 MB of Debian', async () => {
    const files = await readdir(app, { recursive: true, withFileTypes: true });
    const sizes = await Promise.all(
      files.filter((file) => file.isFile()).map(async (file) => (await stat(join(file.parentPath, file.name))).size),
    );
    const own = sizes.reduce((sum, size) => sum + size, 0);
    expect((own + (await stat(process.execPath)).size) / 1e6 + 75).toBeLessThan(250);
    const names = files.map(({ name }) => name);
    expect(names.filter((name) => /\.(pem|key|tsbuildinfo)$|^\.env/.test(name))).toEqual([]);
  });

  it('loads every package that a connector, a vault or a key service needs', async () => {
    const { onDemand } = (await import('../../build/on-demand.mjs')) as { onDemand: string[] };
    const pinned = JSON.parse(await readFile(new URL('package.json', root), 'utf8')).devDependencies as object;
    const names = Object.keys(pinned).filter((name) =>
      onDemand.some((each) => name === each || (each.endsWith('/*') && name.startsWith(each.slice(0, -1)))),
    );
    const needed = names.filter((name) => name !== '@napi-rs/keyring');
    expect(needed.length).toBeGreaterThan(10);
    const script = `for (const name of ${JSON.stringify(needed)}) await import(name);`;
    await writeFile(join(app, 'load.mjs'), script);
    await exec(process.execPath, [join(app, 'load.mjs')], { cwd: app });
  });

  it('serves as another account with a read-only root, and SIGTERM ends it with 0', async () => {
    const port = String(await findTestPort());
    const server = start({ PORT: port, HOST: '127.0.0.1', BELAY_WORKER: 'off' });
    expect(await health({ PORT: port })).toBe(1);
    await vi.waitFor(async () => expect(await health({ PORT: port }), server.said()).toBe(0), waiting);
    const page = await fetch(`http://127.0.0.1:${port}/auth/login`, { headers: { accept: 'text/html' } });
    expect(await page.text()).toContain('belay.css');
    const { version } = (await (await fetch(`http://127.0.0.1:${port}/health`)).json()) as { version: string };
    expect(version).toBe('0.1.0 (git: 0123456789ab)');
    server.child.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    if (process.getuid?.() === 0) {
      const { stdout } = await exec('find', [tmpdir(), folder, '-maxdepth', '2', '-uid', String(user)]).catch(() => ({
        stdout: '',
      }));
      expect(stdout).toBe('');
    }
  });

  it('works as a worker, which is healthy without HTTP, and has the command', async () => {
    const worker = start({ BELAY_WORKER: 'only', BELAY_BASE_URL: 'http://127.0.0.1:8080' });
    await vi.waitFor(() => expect(worker.said()).toContain('Belay'), waiting);
    expect(await health({ BELAY_WORKER: 'only', BELAY_BASE_URL: 'http://127.0.0.1:8080' })).toBe(0);
    const [path = ''] = (fixed().PATH ?? '').split(':');
    const { stdout } = await exec(join(inside(path), 'belay'), ['validate', '--json'], {
      cwd: folder,
      env: { ...fixed(), PATH: dirname(process.execPath), BELAY_CONFIG: join(folder, 'belay.yaml') },
    });
    expect(JSON.parse(stdout)).toMatchObject({ ok: true });
    worker.child.kill('SIGTERM');
    expect(await worker.exited).toBe(0);
  });

  it('does not start without a database, because its root cannot hold one', async () => {
    const alone = start({ DATABASE_URL: '', PORT: '0', HOST: '127.0.0.1' });
    expect(await alone.exited).toBe(1);
    expect(alone.said()).toMatch(/^belay: /);
  });
});

interface Running {
  child: ChildProcess;
  exited: Promise<number | string>;
  said(): string;
}

const waiting = { timeout: 60_000, interval: 200 };

const configuration = `
server: {}
providers:
  id:
    provider: oidc
    config:
      issuer: https://id.example.com
      client_id: belay
      client_secret: a secret that is only a test
`;
