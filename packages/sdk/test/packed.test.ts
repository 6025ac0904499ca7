import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { initTRPC, TRPCError, tracked } from '@trpc/server';
import { createHTTPHandler } from '@trpc/server/adapters/standalone';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from './support/listen.js';
import { type EmptyProject, installPacked } from './support/pack.js';

const exec = promisify(execFile);
const strict = ['--strict', '--skipLibCheck', 'false', '--target', 'es2023', '--module', 'nodenext'];
let project: EmptyProject;

beforeAll(async () => {
  project = await installPacked();
  await writeFile(path.join(project.folder, 'package.json'), JSON.stringify({ name: 'empty', type: 'module' }));
});
afterAll(() => project[Symbol.asyncDispose]());

/** Returns the program of the guide: every TypeScript block of the README and then of the guide, in their order. */
async function readGuide(): Promise<string> {
  const pages = ['../README.md', '../../../docs/guides/sdk.md'].map((page) => new URL(page, import.meta.url));
  const texts = await Promise.all(pages.map((page) => readFile(page, 'utf8')));
  return texts.flatMap((text) => [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code)).join('\n');
}

/** Serves the part of the API that the guide uses, over the same protocol. */
function guideServer() {
  const { router, procedure } = initTRPC.create();
  const decided: unknown[] = [];
  const returned: unknown[] = [];
  const role = { name: 'reporting-readonly', providers: ['demo-postgres'], max_duration: 'PT1H' };
  const input = procedure.input((value) => value as Record<string, unknown>);
  const routes = router({
    auth: router({ whoami: procedure.query(() => ({ email: 'ada@example.com' })) }),
    roles: router({
      list: input.query(() => ({ version: '1.0.1', roles: { [role.name]: { role } } })),
      get: input.query(() => {
        throw new TRPCError({ code: 'NOT_FOUND', message: 'no-such-role was not found' });
      }),
    }),
    elevation: router({ request: input.mutation(() => ({ status: 'pending', output: { execution_id: 'e-1' } })) }),
    executions: router({
      get: input.query(() => ({ status: 'completed', grants: [{ state: 'gone' }] })),
      watch: input.subscription(async function* () {
        yield tracked('1', { seq: 1, timestamp: 'T', event_type: 'grant.active', message: 'granted' });
        yield tracked('2', { seq: 2, timestamp: 'T', event_type: 'entitlement.revoked', message: 'revoked' });
      }),
    }),
    approvals: router({
      inbox: procedure.query(() => ({
        approvals: [{ id: 'a-1', requester: { email: 'bob@example.com' }, role: role.name, request_digest: 'd-1' }],
      })),
      decide: input.mutation(({ input: decision }) => decided.push(decision)),
    }),
    access: router({
      list: procedure.query(() => ({ access: [{ execution_id: 'e-1' }] })),
      return: input.mutation(({ input: what }) => returned.push(what)),
    }),
  });
  return { decided, returned, handler: createHTTPHandler({ router: routes, basePath: '/trpc/' }) };
}

describe('the packed SDK in an empty project', () => {
  it('holds the build and its guide, and nothing of the workshop', () => {
    expect(project.packed.sort()).toEqual([
      'README.md',
      'dist/index.d.ts',
      'dist/index.js',
      'dist/trpc.d.ts',
      'dist/trpc.js',
      'package.json',
    ]);
  });

  it('declares its types without those of other packages', async () => {
    const published = path.join(project.folder, 'node_modules/@belay/sdk/dist');
    const foreign: string[] = [];
    for (const file of project.packed.filter((name) => name.endsWith('.d.ts'))) {
      const text = await readFile(path.join(published, path.relative('dist', file)), 'utf8');
      for (const [, from] of text.matchAll(/(?:from |import\(|types=)["']([^."'][^"']*)["']/g))
        foreign.push(`${file}: ${from}`);
    }
    // Only users of tRPC need the router's type.
    expect(foreign).toEqual(['dist/trpc.d.ts: @trpc/server']);
  });

  it.each([
    ['nodenext', strict],
    ['a bundler', [...strict, '--module', 'esnext', '--moduleResolution', 'bundler']],
  ])('type-checks the guide with every library checked, under %s', async (_name, options) => {
    await writeFile(path.join(project.folder, 'guide.ts'), await readGuide());
    expect(await project.compile('--noEmit', '--types', '', ...options, 'guide.ts')).toBe('');
  });

  it('declares states, verdicts, codes and events as lists of values, and events as open ones', async () => {
    const program = `import type { AuditEntry, BulkDecided, Decided, Decision, Elevation, EventName, EventType, Execution,
        ExecutionEvent, HistoryEntry, LogEntry, ManyRequested, StartedExecution } from '@belay/sdk';
      type Listed<T> = string extends T ? 'a text' : 'a list';
      const listed: Listed<Execution['status']> & Listed<ExecutionEvent['status']> & Listed<StartedExecution['status']>
        & Listed<Elevation['status']> & Listed<Decided['status']> & Listed<Decision['verdict']> & Listed<LogEntry['level']>
        & Listed<NonNullable<BulkDecided['results'][number]['status']>> & Listed<EventType>
        & Listed<NonNullable<ManyRequested['results'][number]['error']>['code']> = 'a list';
      const told: [HistoryEntry['event_type'], LogEntry['type'], AuditEntry['type']] = ['grant.intended', 'run.started', 'mine'];
      declare const event: ExecutionEvent;
      const name: EventName = event.event_type;
      const known: EventType = 'approval.opened';
      const unknown: EventType = 'approval.opend';
      if (event.status === 'complete') void [listed, told, name, known, unknown];`;
    await writeFile(path.join(project.folder, 'lists.ts'), program);
    const complaints = await project.compile('--noEmit', '--types', '', ...strict, 'lists.ts');
    expect(complaints.match(/^lists\.ts\(\d+/gm)).toEqual(['lists.ts(12', 'lists.ts(13']);
  });

  it('rejects what is not in the interface', async () => {
    const wrong = "import { createClient } from '@belay/sdk';\nawait createClient({ url: 'http://x' }).roles.get(7);\n";
    await writeFile(path.join(project.folder, 'wrong.ts'), wrong);
    expect(await project.compile('--noEmit', '--types', '', ...strict, 'wrong.ts')).toMatch(
      /wrong\.ts\(2,\d+\): error TS2345/,
    );
  });

  it('types a tRPC client, and TanStack Query on it, from the packed router', async () => {
    const example = new URL('../../../examples/tanstack-query/belay.ts', import.meta.url);
    await cp(example, path.join(project.folder, 'belay.ts'));
    const use = `import { createTRPCClient, httpLink } from '@trpc/client';
      import type { AppRouter } from '@belay/sdk/trpc';
      import { createBelay } from './belay.js';
      const trpc = createTRPCClient<AppRouter>({ links: [httpLink({ url: 'http://x/trpc' })] });
      const state: 'pending' | 'running' | string = (await trpc.executions.get.query({ id: 'e-1' })).state;
      trpc.executions.watch.subscribe({ id: 'e-1' }, { onData: ({ id, data }) => void [id.length, data.seq + 1] });
      await trpc.auth.whoami.query();
      await createBelay({ url: 'http://x', token: state }).elevate.mutationFn({
        role: 'r', reason: 'a ticket', duration: 'PT5M', key: 'k' });
      await trpc.access.return.mutate({ execution_id: 7 });
      await trpc.access.retrun.mutate({ execution_id: 'e-1' });
      await trpc.roles.list.mutate({});`;
    await writeFile(path.join(project.folder, 'use.ts'), use);
    const options = ['--noEmit', '--types', '', ...strict, '--lib', 'es2023,dom,dom.iterable,dom.asynciterable'];
    const complaints = await project.compile(...options, 'use.ts');
    expect(complaints.match(/^\S+\.ts\(\d+/gm)).toEqual(['use.ts(10', 'use.ts(11', 'use.ts(12']);
  });

  it('prints the code of an error that the test provokes', async () => {
    const program = `import { type BelayError, isBelayError } from '@belay/sdk';
      declare const caught: unknown;
      if (isBelayError(caught, 'conflict')) { const code: 'conflict' = caught.code; void code; }
      if (isBelayError(caught)) { const code: BelayError['code'] = caught.code; void code; }
      if (isBelayError(caught)) { const code: 'conflict' = caught.code; void code; }`;
    await writeFile(path.join(project.folder, 'guard.ts'), program);
    const complaints = await project.compile('--noEmit', '--types', '', ...strict, 'guard.ts');
    expect(complaints.match(/^guard\.ts\(\d+/gm)).toEqual(['guard.ts(5']);
  });

  it('runs the guide', async () => {
    const { handler, decided, returned } = guideServer();
    await using server = await listen(handler);
    const guide = (await readGuide()).replace('http://127.0.0.1:8080', server.url);
    await writeFile(path.join(project.folder, 'run.ts'), guide);
    expect(await project.compile('--types', '', ...strict, 'run.ts')).toBe('');
    const { stdout } = await exec(process.execPath, ['run.js'], { cwd: project.folder });
    expect(stdout.trim().split('\n')).toEqual([
      'signed in as ada@example.com',
      'T grant.active granted',
      'T entitlement.revoked revoked',
      "completed [ 'gone' ]",
      'not_found 404 no-such-role was not found [] undefined',
      'reporting-readonly at demo-postgres, for PT1H at most',
      'bob@example.com asks for reporting-readonly',
    ]);
    expect(decided).toEqual([{ id: 'a-1', verdict: 'approve', comment: 'go ahead', request_digest: 'd-1' }]);
    expect(returned).toEqual([{ execution_id: 'e-1' }]);
  });
});
