import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findPlatformPackage, isMusl, noBinaries } from '../src/find-platform-package.js';
import { linkLibraries } from '../src/link-libraries.js';
import { describeAsRoot, NOBODY } from './support/describe-as-root.js';
import { copyPlatformPackage, makeKit, serve } from './support/kit.js';
import { query, refusal, start } from './support/start.js';
import { type TemporaryFolder, temporaryFolder } from './support/temporary-folder.js';

function links(packageFolder: string): string[] {
  const list = JSON.parse(readFileSync(join(packageFolder, 'native/pg-symlinks.json'), 'utf8')) as { target: string }[];
  return list.map(({ target }) => join(packageFolder, target));
}

/** Returns a copy of the platform package as an installation without install scripts leaves it. */
function withoutLinks(folder: string): string {
  const packageFolder = copyPlatformPackage(folder);
  for (const link of links(packageFolder)) {
    rmSync(link, { force: true });
  }
  return packageFolder;
}

describe('with install scripts disabled', () => {
  it('the library links are made at the first start, and made again when one is lost', async () => {
    await using folder = temporaryFolder();
    const packageFolder = withoutLinks(join(folder.path, 'package'));
    const data = join(folder.path, 'data');
    await (await start(data, { packageFolder })).stop();
    expect(links(packageFolder).every((link) => lstatSync(link).isSymbolicLink() && existsSync(link))).toBe(true);
    expect(readdirSync(data)).not.toContainEqual(expect.stringContaining('binaries'));
    rmSync(links(packageFolder)[4] ?? '');
    await Promise.all([linkLibraries(packageFolder), linkLibraries(packageFolder)]);
    expect(links(packageFolder).every((link) => existsSync(link))).toBe(true);
  });

  it('a list of links that leads out of the package is not followed', async () => {
    await using folder = temporaryFolder();
    mkdirSync(join(folder.path, 'native'));
    const list = [{ source: '../outside', target: '../link' }];
    writeFileSync(join(folder.path, 'native/pg-symlinks.json'), JSON.stringify(list));
    await expect(linkLibraries(join(folder.path, 'native'))).resolves.toBeUndefined();
    await expect(linkLibraries(folder.path)).rejects.toThrow(/leaves its folder/);
  });
});

describe('without programs for this platform', () => {
  it('a platform that has no package is told what to do', async () => {
    await expect(findPlatformPackage('sunos', 'sparc')).rejects.toMatchObject({
      code: 'no_binaries',
      message: expect.stringMatching(/sunos-sparc.*install it, or use a PostgreSQL server of your own/),
    });
  });

  it('a missing package is told so before anything is created', async () => {
    await using folder = temporaryFolder();
    const data = join(folder.path, 'data');
    const error = await refusal(start(data, { packageFolder: join(folder.path, 'nothing') }));
    expect(error.code).toBe('no_binaries');
    expect(existsSync(data)).toBe(false);
  });

  it('a system with musl is told what it lacks, and this one is recognised for what it is', () => {
    expect(noBinaries('linux', 'x64', true)).toMatchObject({
      code: 'no_binaries',
      message: expect.stringMatching(/Alpine.*musl.*image with glibc/),
    });
    // The programs that this very test run starts need glibc.
    expect(isMusl(process.platform)).toBe(false);
  });

  it('programs whose loader this system lacks do not run from a copy either, and that is said in one line', async () => {
    await using folder = temporaryFolder();
    const packageFolder = join(folder.path, 'package');
    mkdirSync(join(packageFolder, 'native/bin'), { recursive: true });
    writeFileSync(join(packageFolder, 'package.json'), '{"version":"18.0.0"}');
    for (const name of ['postgres', 'initdb', 'pg_ctl']) {
      writeFileSync(join(packageFolder, 'native/bin', name), '#!/lib/a-loader-that-is-not-here\n', { mode: 0o755 });
    }
    const error = await refusal(start(join(folder.path, 'data'), { packageFolder }));
    expect(error).toMatchObject({ code: 'start_failed', message: expect.stringMatching(/ENOENT/) });
  });
});

describeAsRoot('when node_modules is closed', () => {
  let tools: TemporaryFolder;
  let kit: string;

  beforeAll(() => {
    tools = temporaryFolder();
    kit = makeKit(join(tools.path, 'kit'));
  });

  afterAll(() => tools[Symbol.asyncDispose]());

  it('to the account that root starts the server as, the programs are copied once', async () => {
    await using folder = temporaryFolder();
    const packageFolder = copyPlatformPackage(join(folder.path, 'closed/package'));
    chmodSync(join(folder.path, 'closed'), 0o700);
    const data = join(folder.path, 'data');
    const said: string[] = [];
    const log = (line: string) => said.push(line);
    const server = await start(data, { packageFolder, log });
    expect(await query(server.url('postgres'), 'select 1 as one')).toEqual([{ one: 1 }]);
    await server.stop();
    const [copy = ''] = readdirSync(data).filter((name) => name.startsWith('postgres-binaries-'));
    const made = statSync(join(data, copy)).ctimeMs;
    await (await start(data, { packageFolder, log })).stop();
    expect(statSync(join(data, copy)).ctimeMs).toBe(made);
    expect(said.filter((line) => line.startsWith('copying'))).toHaveLength(1);
  });

  it('to writing, and the links are missing, an ordinary user gets a copy with links', async () => {
    await using folder = temporaryFolder();
    chmodSync(folder.path, 0o777);
    // Owned by root, so the account cannot write in it.
    const packageFolder = withoutLinks(join(folder.path, 'package'));
    const data = join(folder.path, 'data');
    const served = serve(kit, { dataDirectory: data, packageFolder }, { uid: NOBODY });
    const { url } = await served.until('started');
    expect(await query(url ?? '', 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(links(packageFolder).some((link) => existsSync(link))).toBe(false);
    const [copy = ''] = readdirSync(data).filter((name) => name.startsWith('postgres-binaries-'));
    expect(links(join(data, copy)).every((link) => existsSync(link))).toBe(true);
    served.child.stdin?.write('stop\n');
    await served.until('stopped');
    await served.ended;
  });
});
