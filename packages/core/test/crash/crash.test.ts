import { fileURLToPath } from 'node:url';
import { approvalTasks, workflowOf } from '@belay/testkit/house';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogWith, hour, second } from '../support/stories.js';
import { die, type Lane, type Lanes, openLanes } from './lanes.js';

const crashpoints = [
  'started',
  'step claimed',
  'committed',
  'call performed',
  'approval opened',
  'message queued',
  'message delivered',
  'message revised',
  'asked again',
  'put off',
  'intended',
  'entitlement claimed',
  'grant called',
  'grant recorded',
  'recorded with its move',
  'failure recorded',
  'looked again',
  'outcome stored',
  'decided',
  'signal kept',
  'returned',
  'revocation asked',
  'cancellation stored',
  'step given back',
  'entitlement given back',
  'revoke called',
  'revoke recorded',
  'stopped',
  'provisioned',
];
/** Crashpoints of retention, which runs without a request; retention-requests.test.ts stops there. */
const ofRetention = ['requests deleted', 'archive written', 'block deleted'];
/** Crashpoints that every step of a story passes, and how often: a later visit is at another place of the story. */
const often = new Map([
  ['step claimed', 7],
  ['committed', 12],
  ['call performed', 12],
  ['returned', 4],
]);
const visitsOf = (name: string) => (process.env.BELAY_TEST_LONG ? (often.get(name) ?? 2) : often.has(name) ? 3 : 2);
const cases = crashpoints.flatMap((name) =>
  Array.from({ length: visitsOf(name) }, (_, index): [string, number] => [name, index + 1]),
);

describe('a process that is killed anywhere', () => {
  let lanes: Lanes;

  beforeAll(async () => {
    const tell = { call: 'access.notify', with: { provider: 'memory', to: 'ada', message: 'hello' } };
    const tasks = [{ tell }, { grant: { call: 'access.grant' } }, { revoke: { call: 'access.revoke' } }];
    const hear = { listen: { to: { one: { with: { type: 'go' } } } }, timeout: { after: { hours: 1 } } };
    const listening = [{ hear }];
    const catalog = catalogWith(
      { fleeting: [{ grant: { call: 'access.grant' } }], revoking: tasks, listening, staged: listening },
      { permissions: { delegates: { users: ['ada@example.com'] } } },
    );
    lanes = await openLanes(2, notifying(catalog));
  });
  afterAll(() => lanes[Symbol.asyncDispose]());

  it('covers every crashpoint there is', async () => {
    const { readdir, readFile } = await import('node:fs/promises');
    const roots = ['../../src/', '../../../engine/src/'].map((path) => fileURLToPath(new URL(path, import.meta.url)));
    const files = await Promise.all(
      roots.map(async (root) => (await readdir(root, { recursive: true })).map((file) => `${root}${file}`)),
    );
    const sources = files.flat().filter((file) => file.endsWith('.ts'));
    const texts = await Promise.all(sources.map((file) => readFile(file, 'utf8')));
    const named = texts.flatMap((text) =>
      [...text.matchAll(/crashpoint\((['`])(.+?)\1\)/g)].map((match) => match[2] ?? ''),
    );
    const expanded = named.flatMap((name) => ['grant', 'revoke'].map((task) => name.replace(/\$\{.+?\}/, task)));
    expect(new Set([...crashpoints, ...ofRetention])).toEqual(new Set(expanded));
  });

  it.concurrent.each(cases)('dies at "%s" (%i), and another takes over', { timeout: 120_000 }, (crashAt, occurrence) =>
    lanes.take((lane) => dieAndTakeOver(lane, crashAt, occurrence)),
  );
});

/** Returns the same catalog with approvals that notify approvers by messages, and with a workflow of two stages that does too. */
function notifying(catalog: object): object {
  const [validate, , ...rest] = approvalTasks();
  const asking = (name: string, groups: string[]) => {
    const stages = groups.map((group) => ({ approvers: { groups: [group] } }));
    const approve = { call: 'access.approve', with: { stages, notify: { provider: 'memory', to: 'approvers' } } };
    return { description: 'Asks first', workflow: workflowOf(name, [validate, { approve }, ...rest]) };
  };
  const approved = asking('approved', ['approvers']);
  const staged = asking('staged', ['approvers', 'security']);
  const { workflows } = catalog as { workflows: object };
  return { ...catalog, workflows: { ...workflows, approved, staged } };
}

async function dieAndTakeOver(lane: Lane, crashAt: string, occurrence: number): Promise<void> {
  const { house } = lane;
  const { sql } = house.database;
  const [last] = await sql`select coalesce(max(seq), 0)::int as seq from ledger`;
  // A provider that throttles, so that the story also waits and retries. Removes what is left of the previous throttling.
  for (const operation of ['identities', 'ensurePresent'] as const) {
    while (house.provider.take({ operation })) continue;
    house.provider.inject(operation, { kind: 'throttle' }, 3);
  }
  // A process that died during provisioning leaves the provisioned person behind, and the next process creates the person again.
  await sql`update provisioned_users set deleted_at = app_now() where deleted_at is null`;
  await die(lane, { story: 'synchronous', crashAt, occurrence });

  // R1, R4: all that the provider holds now has a row that owes its revocation.
  const owed = await sql<{ identity: string }[]>`select identity from entitlements where state <> 'absent'`;
  expect(owed.map(({ identity }) => identity)).toEqual(
    expect.arrayContaining(house.provider.held().map(({ identity }) => identity)),
  );

  await lane.pass(46 * second);
  for (let later = 0; later < 3; later += 1) await lane.pass(10 * second);
  for (let later = 0; later < 3; later += 1) await lane.pass(13 * hour);
  expect(house.provider.held()).toEqual([]);
  const [left] = await sql`select
    (select count(*)::int from steps where status = 'open') as open_steps,
    (select count(*)::int from executions where ended_at is null) as running,
    (select count(*)::int from approvals where status = 'open') as open_approvals,
    (select count(*)::int from entitlements where state <> 'absent') as owed,
    (select count(*)::int from messages where closed_at is null) as open_messages,
    (select count(*)::int from messages where execution_id is not null and delivered_at is null) as untold,
    (select count(*)::int from grants where gone_at is null) as not_gone`;
  expect(left).toEqual({
    open_steps: 0,
    running: 0,
    open_approvals: 0,
    owed: 0,
    open_messages: 0,
    untold: 0,
    not_gone: 0,
  });
  // The ledger records each end exactly once.
  const untold = await sql`select e.id, e.status, l.ends from executions e, lateral (
      select count(*)::int as ends from ledger where execution_id = e.id and (type = 'execution.terminated'
        or type = 'io.serverlessworkflow.workflow.' || e.status || '.v1')) l
    where l.ends <> 1`;
  expect([...untold]).toEqual([]);
  const grants =
    await sql`select g.id from grants g where (select count(*) from ledger l where l.execution_id = g.execution_id
    and l.entitlement_id = g.entitlement_id and l.type in ('grant.intended', 'entitlement.revoked')) <> 2`;
  expect([...grants]).toEqual([]);
  const [told] =
    await sql`select count(*)::int as rows from ledger where seq > ${last?.seq as number} and type = 'elevation.requested'`;
  expect(told?.rows).toBeGreaterThan(0);
}
