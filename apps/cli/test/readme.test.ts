import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { hasProgram } from './support/has-program.js';
import { startInstallation } from './support/installation.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const here = hasProgram('curl', 'the README’s curl block was not run');

it.runIf(here)(
  'the README’s curl block runs as it is printed, from the request to giving back',
  async () => {
    const readme = await readFile(path.join(root, 'README.md'), 'utf8');
    const block =
      readme
        .split('```sh\n')
        .find((part) => part.startsWith('API='))
        ?.split('```')[0] ?? '';
    await using installation = await startInstallation();
    const printed = block.replace('http://127.0.0.1:8080', installation.url);
    expect(printed).not.toBe(block);
    const env = {
      PATH: process.env.PATH ?? '',
      HOME: installation.folder,
      BELAY_DATA: path.join(installation.folder, 'data'),
    };
    const child = spawn('sh', ['-eu', '-c', printed], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    const documents = stdout.split(/(?<=\})(?=\{)/).map((each) => JSON.parse(each) as Record<string, unknown>);
    expect(documents, stderr).toMatchObject([
      { roles: { 'reporting-readonly': {} } },
      { state: 'waiting_for_approval' },
      { approvals: [{ role: 'reporting-readonly' }] },
      { status: 'approved' },
      { state: 'active' },
      { access: [{ state: 'active' }] },
      { message: 'The access is given back' },
    ]);
  },
  120_000,
);
