import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { readStages, root, valuesOf } from './dockerfile.js';

const exec = promisify(execFile);
const from = fileURLToPath(root);

it('builds the image with the commands of the Dockerfile, from nothing but the files of the repository', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'belay-stages-'));
  try {
    const source = join(folder, 'src');
    const { stdout } = await exec('git', ['ls-files', '-z'], { cwd: from, maxBuffer: 64e6 });
    for (const file of stdout.split('\0').filter((each) => each !== '' && !each.startsWith('docs/screenshots/'))) {
      await cp(join(from, file), join(source, file), { recursive: true });
    }
    const [, build, last] = readStages();
    const image = join(folder, 'image');
    for (const line of valuesOf(build, 'RUN')) {
      await exec('sh', ['-c', line.replace(/ .image$/, ` ${image}`)], { cwd: source, maxBuffer: 64e6 });
    }
    const entry = JSON.parse(valuesOf(last, 'ENTRYPOINT')[0] ?? '[]') as string[];
    const script = (entry[1] ?? '').replace(/^\/app/, image);
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, BELAY_CONFIG: '/nonexistent' };
    const refused = await exec(process.execPath, [script], { cwd: image, env }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/^belay: /) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 1_200_000);
