import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BelayClient } from '@belay/sdk';
import { describe, expect, it, vi } from 'vitest';
import { signIn } from '../../../../examples/quickstart/sign-in.mjs';
import { isMember } from '../../../../examples/quickstart/target.mjs';
import { makeFolder, startProcess } from './server-process.js';

const role = 'reporting_readonly';
const patience = { timeout: 30_000, interval: 100 };

interface DemoFile {
  base_url: string;
  people: { name: string; groups: string[]; database_url: string }[];
}

async function become(demo: DemoFile, group: string): Promise<BelayClient> {
  const person = demo.people.find(({ groups }) => groups.includes(group));
  return signIn({ baseUrl: demo.base_url, provider: 'demo', person });
}

describe('kill -9', () => {
  it('while access is held does not let it outlive its time: the next start takes it away, and the story goes on', async () => {
    await using folder = await makeFolder();
    const first = startProcess(folder.path);
    await first.says('Worker  ');
    const read = async (): Promise<DemoFile> =>
      JSON.parse(await readFile(join(folder.path, '.belay', 'demo.json'), 'utf8'));
    const demo = await read();
    const database = demo.people.find(({ groups }) => groups.includes('engineers'))?.database_url ?? '';
    const [requester, approver] = await Promise.all([become(demo, 'engineers'), become(demo, 'approvers')]);
    const ask = (duration: string) =>
      requester.elevation.request({
        role: 'reporting-readonly',
        reason: 'to be killed',
        duration,
        providers: ['demo-postgres'],
      });
    const held = (await ask('PT12S')).output.execution_id;
    const waiting = (await ask('PT5M')).output.execution_id;
    const decide = (id: string, client: BelayClient) =>
      vi.waitFor(() => client.approvals.decide({ id, verdict: 'approve' }), patience);
    await decide(held, approver);
    // Wait until the grant is recorded: an unrecorded grant is found only when its lease is over (docs/architecture.md, section 8).
    await vi.waitFor(
      async () => expect((await requester.executions.get(held)).grants[0]?.state).toBe('active'),
      patience,
    );
    expect(await isMember(database, role)).toBe(true);
    first.process.kill('SIGKILL');
    await first.exited;
    let started = 0;
    const { grants } = await (async () => {
      await using second = startProcess(folder.path);
      await second.says('Worker  ');
      started = Date.now();
      const again = await read();
      const back = await become(again, 'engineers');
      await vi.waitFor(async () => expect((await back.executions.get(held)).grants[0]?.state).toBe('gone'), patience);
      expect(await isMember(again.people[0]?.database_url ?? '', role)).toBe(false);
      // The request that waited when the process was killed still waits, and can be decided.
      await decide(waiting, await become(again, 'approvers'));
      await vi.waitFor(
        async () => expect((await back.executions.get(waiting)).grants[0]?.state).toBe('active'),
        patience,
      );
      await back.access.return(waiting);
      await vi.waitFor(
        async () => expect(await isMember(again.people[0]?.database_url ?? '', role)).toBe(false),
        patience,
      );
      return await back.executions.get(held);
    })();
    const [grant] = grants;
    // Without the duration of the start, which depends on other work of the machine.
    const late = Date.parse(grant?.gone_at ?? '') - Math.max(started, Date.parse(grant?.expires_at ?? ''));
    // The sweep of the next start (docs/architecture.md, section 8).
    expect(late).toBeLessThan(15_000);
  });
});
