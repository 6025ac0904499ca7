import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Belay, openBelay } from './support/belay.js';
import { silent } from './support/run.js';

let belay: Belay;
let adam: { server: string; token: string };
let requests: string[];
let approvals: { id: string; execution_id: string }[];

beforeAll(async () => {
  belay = await openBelay();
  adam = await belay.as('approver');
  requests = [await belay.request('--role', 'reader'), await belay.request('--role', 'reader', '--duration', 'PT5M')];
  const { stdout } = await belay.terminal.run(['inbox', '--json'], adam);
  approvals = (JSON.parse(stdout) as { approvals: typeof approvals }).approvals;
});
afterAll(() => belay?.[Symbol.asyncDispose]());

/** Returns the shortest unique beginning of an id. */
function beginningOf(id: string, others: string[]): string {
  const length = [...id].findIndex((_, at) => !others.some((other) => other.startsWith(id.slice(0, at + 1))));
  return id.slice(0, length + 1);
}

const decisions = () => belay.changes().filter(({ path }) => path === 'approvals.decide');

describe('an id', () => {
  it('leads to the page of the request, and none to the first page', async () => {
    const opened: string[] = [];
    const openBrowser = (url: string) => void opened.push(url);
    const [one = '', other = ''] = requests;
    await belay.terminal.run(['open', beginningOf(one, [other])], { openBrowser });
    await belay.terminal.run(['open'], { openBrowser });
    expect(opened).toEqual([`${belay.url}/requests/${one}`, `${belay.url}/`]);
  });

  it('is picked on a terminal when approve and deny have none', async () => {
    const labels: string[] = [];
    const prompts = {
      ...silent,
      select: async (_question: string, choices: { value: string; label: string }[]) => {
        labels.push(...choices.map(({ label }) => label));
        throw new Error('none is picked');
      },
    };
    await belay.terminal.run(['deny'], { ...adam, interactive: true, prompts });
    expect(labels.sort()).toEqual(['Rita: reader for 15m', 'Rita: reader for 5m']);
    expect(await belay.terminal.run(['deny'], adam)).toMatchObject({ code: 2 });
    expect(decisions()).toEqual([]);
  });

  it('is rejected when it begins two requests of which one is not on the first page of many', async () => {
    const [one = '', other = ''] = approvals.map(({ id }) => id).sort();
    const { sql } = belay.world.database;
    // Insert approvals between the two in the inbox, with ids that begin differently.
    const between = 'ffffffff-0000-7000-8000-000000000000';
    await sql`insert into executions
      select (jsonb_populate_record(e, jsonb_build_object('id', ${between}::text))).* from executions e where id = ${requests[0] ?? ''}`;
    await sql`insert into approvals (id, execution_id, step_key, stage, rule, excluded, known_as, subject, request_digest, status, expires_at, created_at)
      select overlay(gen_random_uuid()::text placing 'ffffffff' from 1 for 8)::uuid, ${between}, step_key || n, stage, rule, excluded, known_as,
        subject, request_digest, status, expires_at, created_at
      from approvals, generate_series(1, 600) n where id = ${one}`;
    const both = await belay.terminal.run(['deny', beginningOf(one, [other]).slice(0, -1)], adam);
    await sql`delete from approvals where execution_id = ${between}`;
    await sql`delete from executions where id = ${between}`;
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('ambiguous') });
    expect(decisions()).toEqual([]);
  });

  it('may be the beginning of one request, and is rejected with the ids when it begins several', async () => {
    const [one = '', other = ''] = approvals.map(({ id }) => id);
    const own = beginningOf(one, [other, ...requests]);
    const ambiguous = await belay.terminal.run(['deny', beginningOf(one, [other]).slice(0, -1)], adam);
    expect(ambiguous).toMatchObject({ code: 2, stderr: expect.stringContaining(one) });
    expect(ambiguous.stderr).toContain(other);
    expect(decisions()).toEqual([]);
    expect(await belay.terminal.run(['deny', own], adam)).toMatchObject({ code: 0 });
    expect(decisions()).toMatchObject([{ input: { id: one, verdict: 'deny' } }]);
    expect(await belay.terminal.run(['deny', 'ffff'], adam)).toMatchObject({ code: 5 });
    const prompts = { ...silent, select: async () => other };
    expect(await belay.terminal.run(['deny'], { ...adam, interactive: true, prompts })).toMatchObject({ code: 0 });
    expect(decisions()).toMatchObject([{}, { input: { id: other } }]);
  });

  it('of an approval stands for its request, whose id may begin like it', async () => {
    const request = await belay.request('--role', 'reader', '--for', '5m');
    const { stdout } = await belay.terminal.run(['inbox', '--json'], adam);
    const [{ id = '' } = {}] = (JSON.parse(stdout) as { approvals: typeof approvals }).approvals;
    const shown = await belay.terminal.run(['executions', 'show', id, '--json'], adam);
    expect(JSON.parse(shown.stdout)).toMatchObject({ workflow_id: request });
    // Only one request waits, so even a short beginning is unique.
    expect(await belay.terminal.run(['deny', request.slice(0, 4)], adam)).toMatchObject({ code: 0 });
    expect(decisions().at(-1)).toMatchObject({ input: { id, verdict: 'deny' } });
  });
});
