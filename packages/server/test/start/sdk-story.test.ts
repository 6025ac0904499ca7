import { execFile } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { installPacked } from '../../../sdk/test/support/pack.js';
import { makeFolder, startProcess } from './server-process.js';

const exec = promisify(execFile);
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

it('the packed SDK in an empty project does the whole story against a server that runs, down to the database', async () => {
  await using folder = await makeFolder();
  await using server = startProcess(folder.path);
  await using project = await installPacked();
  await writeFile(join(project.folder, 'package.json'), JSON.stringify({ name: 'empty', type: 'module' }));
  const signIn = '../../../../examples/quickstart/sign-in.mjs';
  await cp(file(signIn), join(project.folder, 'sign-in.mjs'));
  const story = (await readFile(file('./sdk-story.mjs'), 'utf8')).replace(signIn, './sign-in.mjs');
  await writeFile(join(project.folder, 'story.mjs'), story);
  await symlink(file('../../../../node_modules/postgres'), join(project.folder, 'node_modules/postgres'));
  await server.says('Database');
  const demo = join(folder.path, '.belay', 'demo.json');
  const { stdout } = await exec(process.execPath, ['story.mjs', demo], { cwd: project.folder });
  const grants = 'to approve: [["rita",{"role":"reporting_readonly"}]]';
  const themselves = 'the requester as approver: forbidden';
  expect(stdout.trim().split('\n')).toEqual([
    'signed in as Rita Requester',
    'without a login: unauthenticated',
    'suggested reporting-readonly for PT20M at demo-postgres',
    'before: 42501',
    'one request: true',
    grants,
    themselves,
    'held: reporting-readonly active, and the database says read',
    'given back: gone, and the database says 42501',
    'may put together: demo-postgres reporting_*',
    'another person: forbidden providers[0]',
    'not everything: invalid groups[0]',
    grants,
    themselves,
    'put together, and the database says read',
    'given back: gone, and the database says 42501',
    'left: 0',
  ]);
}, 240_000);
