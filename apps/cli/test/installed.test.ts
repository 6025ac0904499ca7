import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packPackage } from '../../../pack/src/pack-package.mjs';
import { published } from '../../../pack/src/published.mjs';

const exec = promisify(execFile);
const megabyte = 1024 * 1024;

let folder: string;
let program: string;
let packed: { tarball: string; files: string[] };
let world: World;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'belay-installed-'));
  const which = published.find((each) => each.folder === 'apps/cli');
  if (which === undefined) throw new Error('the command line is not published');
  [packed, world] = await Promise.all([packPackage(which, folder), createWorld()]);
  const project = path.join(folder, 'empty');
  await mkdir(project);
  await writeFile(path.join(project, 'package.json'), '{"private":true}');
  const options = ['install', '--offline', '--no-audit', '--no-fund', '--cache', path.join(folder, 'cache')];
  await exec('npm', [...options, packed.tarball], { cwd: project });
  program = path.join(project, 'node_modules/.bin/belay');
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** Runs the installed program with a home folder of its own and, of this environment, only `PATH`. */
async function belay(args: string[], env: Record<string, string> = {}) {
  const { stdout, stderr } = await exec(program, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, BELAY_AGENT: 'off', ...env },
  });
  return { stdout, stderr };
}

describe('the tarball of the command line, installed in an empty folder', () => {
  it('is under 10 MB and has the bundle, what it loads beside itself, and no package of this repository', async () => {
    expect((await stat(packed.tarball)).size).toBeLessThan(10 * megabyte);
    const places = new Set(packed.files.map((file) => file.split('/').slice(0, 2).join('/')));
    const ours = [...places].filter((place) => !place.startsWith('bundle/'));
    expect(ours.sort()).toEqual(['README.md', 'node_modules/jq-web', 'package.json']);
    expect(packed.files.filter((file) => file.endsWith('.map'))).toEqual([]);
  });

  it('prints its help and its version', async () => {
    expect((await belay(['--help'])).stdout).toContain('approve');
    expect((await belay(['--version'])).stdout.trim()).toMatch(/^\d+\.\d+\.\d+$/);
    expect((await belay(['doctor', '--json']).catch((failed: { stdout: string }) => failed)).stdout).toContain(
      '"checks"',
    );
  });

  it('says where the server is, which it cannot start', async () => {
    const failed: { code: number; stderr: string } = await belay(['start']).then(
      () => ({ code: 0, stderr: '' }),
      (error) => error,
    );
    expect(failed.code).toBe(1);
    expect(failed.stderr).toBe(
      'belay: the server is not part of this package: start it from its container image, or from its repository with npm start\n',
    );
  });

  it('signs in with a token, and requests a role at a real server', async () => {
    const env = { BELAY_URL: world.url, BELAY_TOKEN: await world.token('requester', 'device') };
    expect((await belay(['whoami', '--json=email', '--jq', '.email'], env)).stdout).toBe('rita@example.test\n');
    const request = ['request', '--role', 'reader', '--reason', 'month end', '--no-wait'];
    const { stdout: id } = await belay([...request, '--jq', '.output.execution_id'], env);
    const beginning = id.trim().slice(0, 13);
    const shown = await belay(['executions', 'show', beginning, '--template', '{{.role}} {{.reason}}'], env);
    expect(shown.stdout).toBe('reader month end\n');
  });

  it('says how much processor its help takes beside Node.js alone', async () => {
    const hook = `process.on('exit',()=>{const {user,system}=process.cpuUsage();process.stderr.write('cpu '+(user+system))})`;
    const measure = async (args: string[]) => {
      const env = { PATH: process.env.PATH, NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(hook)}` };
      const { stderr } = await exec(process.execPath, args, { env });
      return Number(/cpu (\d+)/.exec(stderr)?.[1]) / 1_000;
    };
    const times: { help: number[]; alone: number[] } = { help: [], alone: [] };
    for (let turn = 0; turn < 5; turn += 1) {
      times.alone.push(await measure(['-e', '0']));
      times.help.push(await measure([program, '--help']));
    }
    const [alone, help] = [Math.min(...times.alone), Math.min(...times.help)];
    console.info(
      `belay --help: ${help.toFixed(0)} ms of processor, node -e 0: ${alone.toFixed(0)} ms, ratio ${(help / alone).toFixed(2)}`,
    );
    expect(help).toBeGreaterThan(0);
  });
});
