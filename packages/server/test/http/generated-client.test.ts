import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { generateTypes } from '../../../../pack/src/generate-types.mjs';

const exec = promisify(execFile);
const root = fileURLToPath(new URL('../../../../', import.meta.url));
const compiler = path.join(path.dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

/** A program as a person writes it with the generated types. */
const program = `
import createClient from 'openapi-fetch';
import type { components, paths } from './belay.js';

const [baseUrl = '', rita = '', adam = ''] = process.argv.slice(2);
const as = (token: string) =>
  createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${token}\`, Accept: 'application/json' } });
const requester = as(rita);
const approver = as(adam);

const asked = await requester.POST('/elevate', {
  body: { role: 'reader', providers: ['store'], reason: 'An incident', duration: 'PT5M' },
});
if (asked.error !== undefined) throw new Error(asked.error.message);
const id: string = asked.data.output.execution_id;

const wait = { path: { id }, query: { until: 'approval', wait: 'PT20S' } } as const;
await requester.GET('/execution/{id}', { params: wait });
const inbox = await approver.GET('/approvals', { params: { query: { id } } });
const entry: components['schemas']['InboxEntry'] | undefined = inbox.data?.approvals[0];
if (entry === undefined) throw new Error('Nothing waits for a decision');
const decided = await approver.POST('/approvals/{id}/decision', {
  params: { path: { id: entry.id } },
  body: { verdict: 'approve', request_digest: entry.request_digest },
});
console.log(decided.data?.status);

const active = await requester.GET('/execution/{id}', { params: { path: { id }, query: { until: 'active', wait: 'PT20S' } } });
const execution: components['schemas']['ExecutionDetails'] | undefined = active.data;
const state: 'active' | 'ended' | string | undefined = execution?.state;
console.log(state, execution?.grants.map((grant) => grant.state).join());

const returned = await requester.POST('/access/{execution_id}/return', { params: { path: { execution_id: id } } });
console.log(returned.response.status);
const over = await requester.GET('/execution/{id}', { params: { path: { id }, query: { until: 'ended', wait: 'PT20S' } } });
console.log(over.data?.state);

const unknown = await requester.GET('/role/{role}', { params: { path: { role: 'no-such-role' } } });
const code: components['schemas']['Error']['code'] | undefined = unknown.error?.code;
if (code === 'NOT_FOUND') console.log(code, unknown.response.status);
`;

let world: World;
let folder: string;
beforeAll(async () => {
  [world, folder] = await Promise.all([createWorld(), mkdtemp(path.join(tmpdir(), 'belay-client-'))]);
  await mkdir(path.join(folder, 'node_modules/@types'), { recursive: true });
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers', '@types/node', 'undici-types']) {
    await symlink(path.join(root, 'node_modules', name), path.join(folder, 'node_modules', name));
  }
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ name: 'client', type: 'module' }));
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const compile = (...files: string[]) =>
  exec(
    process.execPath,
    [compiler, '--pretty', 'false', '--strict', '--skipLibCheck', 'false']
      .concat(['--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--types', 'node'])
      .concat(['--target', 'es2023', '--module', 'nodenext', ...files]),
    { cwd: folder },
  ).then(
    ({ stdout }) => stdout,
    (failed: { stdout: string }) => failed.stdout,
  );

describe('a client that openapi-typescript generates from the published document', () => {
  it('compiles strictly, and requests access, has it approved, uses it and gives it back', async () => {
    const document = await (await fetch(`${world.url}/api/v1/openapi.json`)).text();
    await writeFile(path.join(folder, 'belay.d.ts'), await generateTypes(document));
    await writeFile(path.join(folder, 'client.ts'), program);
    expect(await compile('client.ts')).toBe('');

    const tokens = [await world.token('requester'), await world.token('approver')];
    let over = false;
    const client = exec(process.execPath, ['client.js', `${world.url}/api/v1`, ...tokens], { cwd: folder }).finally(
      () => {
        over = true;
      },
    );
    await vi.waitFor(
      async () => {
        await world.drive();
        expect(over).toBe(true);
      },
      { timeout: 40_000, interval: 20 },
    );
    const { stdout } = await client;
    expect(stdout.trim().split('\n')).toEqual(['approved', 'active active', '200', 'ended', 'NOT_FOUND 404']);
  });

  it('rejects what the interface does not have', async () => {
    const wrong = `import createClient from 'openapi-fetch';
import type { components, paths } from './belay.js';
const client = createClient<paths>({ baseUrl: '' });
await client.POST('/elevate', { body: { role: 'reader', duration: 3600 } });
const code: components['schemas']['Error']['code'] = 'NOT_A_CODE';
const page = await client.GET('/roles');
const text: string | undefined = page.data;
`;
    await writeFile(path.join(folder, 'wrong.ts'), wrong);
    expect((await compile('--noEmit', 'wrong.ts')).match(/^wrong\.ts\(\d+/gm)).toEqual([
      'wrong.ts(4',
      'wrong.ts(5',
      'wrong.ts(7',
    ]);
  });
});
