// The whole story of Belay against a running demo server (`npm start`), through the SDK and with real connections to the target database.
// Every claim is checked: the exit code is 0 only when all of them are true. Run it with `npm run demo`. It is also an introduction to
// @belay/sdk.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@belay/sdk';
import { chapter, claim, claimRefused, say, until } from './narrate.mjs';
import { signIn } from './sign-in.mjs';
import { closeAll, connect, isMember, once } from './target.mjs';

const role = 'reporting-readonly';
const target = 'demo-postgres';
const databaseRole = 'reporting_readonly';
/**
 * The longest delay of a revocation when every notification is lost, in seconds: one sweep, and a moment for the work
 * (docs/architecture.md, section 8).
 */
const bound = 6;
const notPermitted = ['42501'];

const demo = await readDemo();
const [requester, approver, bystander] = ['engineers', 'approvers', undefined].map((group) =>
  demo.people.find(({ groups }) => (group === undefined ? groups.length === 0 : groups.includes(group))),
);
const database = requester.database_url;

try {
  await waitForServer();
  const clients = {
    requester: await signIn({ baseUrl: demo.base_url, provider: 'demo', person: requester }),
    approver: await signIn({ baseUrl: demo.base_url, provider: 'demo', person: approver }),
    bystander: await signIn({ baseUrl: demo.base_url, provider: 'demo', person: bystander }),
  };
  await tidyUp(clients.requester);
  const connection = await refusedAtFirst();
  const id = await ask(clients);
  await decide(clients, id);
  await use(clients.requester, id, connection);
  await expire(clients.requester, id, connection);
  await cancelled(clients);
  await revokedEarly(clients);
  await expiredWithoutWorkers(clients);
  chapter('All claims hold.');
} catch (error) {
  console.error(`\n  ✗ ${error.message}`);
  process.exitCode = 1;
} finally {
  // The workers must run again after a failure too.
  await setWorkers(true).catch(() => {});
  await closeAll();
}

async function refusedAtFirst() {
  chapter(`1. ${requester.name} has no access`);
  const connection = await connect(database);
  say(`${requester.name} connects to the target with their own password (session ${connection.pid})`);
  await claimRefused(() => connection.read(), notPermitted, 'Reading reporting.revenue');
  claim(!(await isMember(database, databaseRole)), `The server says: not a member of ${databaseRole}`);
  return connection;
}

async function ask({ requester: client, bystander: other }) {
  chapter(`2. ${requester.name} signs in and requests access`);
  const me = await client.auth.whoami();
  claim(
    me.email === requester.email && me.groups.includes('engineers'),
    `Signed in as ${me.email}, group ${me.groups}`,
    me,
  );
  const { roles } = await client.roles.list();
  claim(role in roles, `The role ${role} can be requested`, roles);
  claim(!(role in (await other.roles.list()).roles), `${bystander.name} cannot see it`);
  await claimRefused(
    () => other.elevation.request({ role, providers: [target], reason: 'curiosity' }),
    ['not_found', 'forbidden'],
    `${bystander.name} requests it anyway`,
  );
  await claimRefused(
    () => client.elevation.request({ role, providers: [target], reason: '' }),
    ['invalid'],
    'Requesting without a reason',
  );
  const answer = await client.elevation.request({
    role,
    providers: [target],
    reason: 'Quarterly figures for the board',
    duration: 'PT20S',
  });
  const { workflow_id, execution_id } = answer.output;
  claim(
    answer.status === 'pending' && typeof workflow_id === 'string' && typeof execution_id === 'string',
    `Requested for PT20S: ${JSON.stringify(answer)}`,
    answer,
  );
  return execution_id;
}

async function decide({ requester: mine, approver: theirs, bystander: other }, id) {
  chapter('3. An approver decides');
  const entry = await inboxEntry(theirs, id);
  await claimRefused(
    () => mine.approvals.decide({ id, verdict: 'approve' }),
    ['forbidden'],
    `${requester.name} approves their own request`,
  );
  await claimRefused(
    () => other.approvals.decide({ id, verdict: 'approve' }),
    ['forbidden', 'not_found'],
    `${bystander.name} approves it`,
  );
  await claimRefused(() => other.executions.get(id), ['not_found'], `${bystander.name} views it`);
  claim(
    entry.requester.email === requester.email && entry.role === role && entry.duration === 'PT20S',
    `${approver.name} sees in the inbox: ${entry.requester.name} requests ${entry.role} for ${entry.duration}, "${entry.reason}"`,
    entry,
  );
  const [grant] = entry.grants;
  claim(
    entry.grants.length === 1 &&
      grant.provider === target &&
      grant.identity === 'rita' &&
      JSON.stringify(grant.access).includes(databaseRole),
    `Exactly what will be granted: ${JSON.stringify(grant)}`,
    entry.grants,
  );
  await claimRefused(
    () => theirs.approvals.decide({ id: entry.id, verdict: 'approve', request_digest: 'somethingelse' }),
    ['conflict'],
    'Approving a request other than the one shown',
  );
  claim(!(await isMember(database, databaseRole)), 'Nothing is granted before the approval');
  await theirs.approvals.decide({
    id: entry.id,
    verdict: 'approve',
    comment: 'Go ahead',
    request_digest: entry.request_digest,
  });
  claim(true, `${approver.name} approves`);
}

async function use(client, id, connection) {
  chapter('4. The access works');
  const details = await becomesActive(client, id);
  const seen = details.history.map(({ event_type, task }) => ({ event_type, task }));
  for (const entry of details.history) say(`  history: ${entry.event_type.padEnd(38)} ${entry.message}`);
  for (const task of ['validate', 'approve', 'decide', 'grant']) {
    claim(
      seen.some((entry) => entry.task?.split('/').includes(task)),
      `The history shows the task "${task}"`,
      seen,
    );
  }
  claim(await isMember(database, databaseRole), `The server says: a member of ${databaseRole}`);
  const rows = await connection.read();
  claim(
    rows.length === 3,
    `The same connection reads the table now: ${rows.map(({ region, revenue }) => `${region} ${revenue}`).join(', ')}`,
  );
  const { access } = await client.access.list();
  claim(
    access.some((grant) => grant.execution_id === id && grant.state === 'active'),
    'It is in the list of active access',
    access,
  );
}

async function expire(client, id, connection) {
  chapter('5. The access expires');
  const { grants } = await client.executions.get(id);
  const expires = Date.parse(grants[0].expires_at);
  const length = expires - Date.parse(grants[0].granted_at);
  claim(length === 20_000, `The access lasts 20 s from when it became active: until ${grants[0].expires_at}`, grants);
  say('Following the execution until all that it granted is revoked …');
  const followed = [];
  for await (const event of client.executions.watch(id)) followed.push(event.event_type);
  const late = (Date.now() - expires) / 1000;
  claim(late >= -0.5 && late < bound, `It ended ${late.toFixed(2)} s after its expiry (at most ${bound} s)`, late);
  claim(
    followed.includes('entitlement.revoked'),
    `${followed.length} events were received, with entitlement.revoked as the proof`,
    followed,
  );
  claim(!(await isMember(database, databaseRole)), `The server says: no longer a member of ${databaseRole}`);
  claim(
    !(await connection.isOpen()),
    `The connection that was open (session ${connection.pid}) was ended by the server`,
  );
  await connection.close();
  await claimRefused(() => once(database, ({ read }) => read()), notPermitted, 'Reading on a new connection');
  const done = await until('the execution is completed', bound, async () => {
    const details = await client.executions.get(id);
    return details.status === 'completed' ? details : undefined;
  });
  claim(
    done.grants[0].state === 'gone',
    `The execution is ${done.status}, its grant ${done.grants[0].state}`,
    done.grants,
  );
  await ledgerTells(client, id);
}

async function ledgerTells(client, id) {
  const { logs } = await client.logs.list({ workflow_id: id, limit: 500 });
  // Logs are newest first; the story needs the oldest first.
  const story = logs.toReversed();
  for (const entry of story) say(`  ledger: ${entry.type.padEnd(38)} ${entry.message}`);
  const types = story.map(({ type }) => type);
  const chapters = [
    'elevation.requested',
    'approval.opened',
    'approval.decided',
    'grant.intended',
    'entitlement.granted',
    'grant.expired',
    'entitlement.revoked',
  ];
  const missing = chapters.filter((type) => !types.includes(type));
  claim(missing.length === 0, 'The ledger records it from the request to the revocation', { missing, types });
}

async function cancelled({ requester: mine, approver: theirs }) {
  chapter('6a. A second request is cancelled while it waits');
  const id = await request(mine, 'PT1M', 'Changed my mind');
  const entry = await inboxEntry(theirs, id);
  const answer = await mine.executions.cancel(id);
  claim(answer.status === 'ok', `Cancelled: ${answer.message}`, answer);
  const details = await until('the execution has ended', bound, async () => {
    const found = await mine.executions.get(id);
    return found.end_time === null ? undefined : found;
  });
  claim(
    details.status === 'cancelled' && details.grants.length === 0,
    `The execution is ${details.status}, and granted nothing`,
    details,
  );
  const { approvals } = await theirs.approvals.list();
  claim(!approvals.some(({ execution_id }) => execution_id === id), 'It is no longer in the inbox', approvals);
  await claimRefused(
    () => theirs.approvals.decide({ id: entry.id, verdict: 'approve' }),
    ['conflict', 'not_found'],
    'Approving it now',
  );
  await claimRefused(() => mine.executions.cancel(id), ['conflict'], 'Cancelling it again');
}

async function revokedEarly({ requester: mine, approver: theirs }) {
  chapter('6b. A third is given back early');
  const id = await request(mine, 'PT10M', 'A short look');
  await approve(theirs, id);
  await becomesActive(mine, id);
  const connection = await connect(database);
  claim((await connection.read()).length === 3, 'Reading works');
  const answer = await mine.access.return(id);
  claim(answer.status === 'ok', `Given back, ten minutes early: ${answer.message}`, answer);
  const grant = await becomesGone(mine, id);
  claim(
    grant.ended_reason !== null && grant.ended_reason !== 'expired',
    `It ended because: ${grant.ended_reason}`,
    grant,
  );
  claim(!(await isMember(database, databaseRole)), `The server says: no longer a member of ${databaseRole}`);
  claim(!(await connection.isOpen()), 'The open connection was ended');
  await connection.close();
  await claimRefused(() => once(database, ({ read }) => read()), notPermitted, 'Reading on a new connection');
}

async function expiredWithoutWorkers({ requester: mine, approver: theirs }) {
  chapter('6c. A fourth expires while every worker is stopped');
  const id = await request(mine, 'PT6S', 'At the worst moment');
  await approve(theirs, id);
  const { grants } = await becomesActive(mine, id);
  claim((await once(database, ({ read }) => read())).length === 3, 'Reading works');
  await setWorkers(false);
  claim(true, 'Every worker of every process is stopped');
  const expires = Date.parse(grants[0].expires_at);
  say(`It expires at ${grants[0].expires_at}, while no worker runs …`);
  await until('it has expired', 15, () => Date.now() > expires + 1_500);
  const waiting = await mine.executions.get(id);
  claim(
    waiting.grants[0].state === 'ended',
    `The ledger records the expiry: its grant is "${waiting.grants[0].state}", not "gone"`,
    waiting.grants,
  );
  claim(
    await isMember(database, databaseRole),
    'The target still has the member, because no worker runs that could revoke it',
  );
  await setWorkers(true);
  say('The workers start again');
  const restarted = Date.now();
  await becomesGone(mine, id);
  const took = (Date.now() - restarted) / 1000;
  claim(took < bound, `Revoked ${took.toFixed(2)} s after they started (at most ${bound} s)`, took);
  claim(!(await isMember(database, databaseRole)), `The server says: no longer a member of ${databaseRole}`);
  await claimRefused(() => once(database, ({ read }) => read()), notPermitted, 'Reading');
}

async function request(client, duration, reason) {
  const { output } = await client.elevation.request({ role, providers: [target], reason, duration });
  say(`${requester.name} requests ${role} for ${duration}: "${reason}"`);
  return output.execution_id;
}

async function approve(client, id) {
  const entry = await inboxEntry(client, id);
  await client.approvals.decide({ id: entry.id, verdict: 'approve', request_digest: entry.request_digest });
  say(`${approver.name} approves`);
}

/** Returns the approver's view of a request as soon as the workflow has requested the approval. */
async function inboxEntry(client, id) {
  return until('the request is in the inbox', bound, async () => {
    const { approvals } = await client.approvals.list();
    return approvals.find(({ execution_id }) => execution_id === id);
  });
}

async function becomesActive(client, id) {
  const details = await until('the grant is active', 15, async () => {
    const found = await client.executions.get(id);
    if (found.error) throw new Error(`The execution failed: ${JSON.stringify(found.error)}`);
    return found.grants.some(({ state }) => state === 'active') ? found : undefined;
  });
  claim(true, `The grant is active at ${details.grants[0].granted_at}`);
  return details;
}

async function becomesGone(client, id) {
  const grant = await until('the grant is gone at the target', 15, async () => {
    const { grants } = await client.executions.get(id);
    return grants.length > 0 && grants.every(({ state }) => state === 'gone') ? grants[0] : undefined;
  });
  claim(true, 'The grant is gone at the target, verified by reading it back');
  return grant;
}

/** Ends what an interrupted run of the demo left, so that the story starts from the beginning. */
async function tidyUp(client) {
  await setWorkers(true);
  const { executions } = await client.executions.list();
  for (const { run_id } of executions) await client.executions.cancel(run_id).catch(() => {});
  await until('no access is left from an earlier run', 30, async () => !(await isMember(database, databaseRole)));
}

/** Stops or starts the workers of every process. Only the demo has this control: see packages/demo/src/control.ts. */
async function setWorkers(running) {
  const answer = await fetch(`${demo.control.url}/workers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${demo.control.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ running }),
  });
  if (!answer.ok) throw new Error(`The workers could not be ${running ? 'started' : 'stopped'}: ${answer.status}`);
}

/** Returns what the server wrote for the demo: its address, the people, and their connections to the target. */
async function readDemo() {
  const path = join(process.env.BELAY_DATA || '.belay', 'demo.json');
  const settings = await readFile(path, 'utf8').then(JSON.parse, () => undefined);
  if (!settings?.base_url) {
    console.error(`No demo is running (${path} does not exist). Start one in another terminal: npm start`);
    process.exit(1);
  }
  return { ...settings, base_url: process.env.BELAY_BASE_URL || settings.base_url };
}

async function waitForServer() {
  const anonymous = createClient({ url: demo.base_url });
  await until(`${demo.base_url} responds; is it running (npm start)?`, 20, () =>
    anonymous.system.ready().then(
      ({ status }) => status === 'ready',
      () => false,
    ),
  );
}
