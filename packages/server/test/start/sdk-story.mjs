// What an application can do with only the published SDK: a whole request for a role, and a custom request. Runs in an empty
// project with the packed SDK; `postgres` is used to check at the target what the SDK reports.
import { readFile } from 'node:fs/promises';
import { createClient, isBelayError } from '@belay/sdk';
import postgres from 'postgres';
import { signIn } from '../../../../examples/quickstart/sign-in.mjs';

const demo = JSON.parse(await readFile(process.argv[2], 'utf8'));
const person = (group) =>
  demo.people.find(({ groups }) => (group === undefined ? groups.length === 0 : groups.includes(group)));
const [rita, adam, bea] = [person('engineers'), person('approvers'), person(undefined)];

/** Returns whether the requester can read the database, with their own password on a new connection. */
async function read() {
  const sql = postgres(rita.database_url, { max: 1, onnotice: () => {}, fetch_types: false });
  try {
    await sql`select region from reporting.revenue limit 1`;
    return 'read';
  } catch (error) {
    return error.code;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const tell = (text) => console.log(text);
const refusal = (call) =>
  call.then(
    () => 'none',
    (error) =>
      isBelayError(error) ? `${error.code} ${(error.issues ?? []).map(({ path }) => path)}`.trim() : String(error),
  );

const at = (who) => signIn({ baseUrl: demo.base_url, provider: 'demo', person: who });
const [requester, approver, bystander] = [await at(rita), await at(adam), await at(bea)];
tell(`signed in as ${(await requester.auth.whoami()).name}`);
tell(`without a login: ${await refusal(createClient({ url: demo.base_url, token: 'not-one' }).auth.whoami())}`);

const { output: hint } = await requester.elevation.suggest({ reason: 'read the revenue figures for 20 minutes' });
tell(`suggested ${hint.suggested_role} for ${hint.suggested_duration} at ${hint.suggested_providers}`);

/** Follows a request until access is granted; the approver decides on exactly the request that they were shown. */
async function obtain(id) {
  for await (const { event_type } of requester.executions.watch(id)) {
    if (event_type === 'approval.opened') {
      const { approvals } = await approver.approvals.list();
      const item = approvals.find(({ execution_id }) => execution_id === id);
      tell(`to approve: ${JSON.stringify(item.grants.map(({ identity, access }) => [identity, access]))}`);
      const { request_digest } = item;
      tell(
        `the requester as approver: ${await refusal(requester.approvals.decide({ id: item.id, verdict: 'approve' }))}`,
      );
      await approver.approvals.decide({ id: item.id, verdict: 'approve', request_digest });
    }
    if (event_type === 'entitlement.granted') return;
  }
}

/** Gives access back, and follows the execution until the access is revoked. */
async function giveBack(id) {
  await requester.access.return(id);
  for await (const { event_type } of requester.executions.watch(id)) if (event_type === 'entitlement.revoked') break;
  const { grants } = await requester.executions.get(id);
  tell(`given back: ${grants.map(({ state }) => state)}, and the database says ${await read()}`);
}

tell(`before: ${await read()}`);
const idempotencyKey = 'the-story';
const wish = {
  role: hint.suggested_role,
  providers: hint.suggested_providers,
  duration: hint.suggested_duration,
  reason: 'the monthly figures look wrong',
  idempotencyKey,
};
const asked = await requester.elevation.request(wish);
const again = await requester.elevation.request(wish);
tell(`one request: ${asked.output.execution_id === again.output.execution_id}`);
await obtain(asked.output.execution_id);
const { access } = await requester.access.list();
tell(`held: ${access.map(({ role, state }) => `${role} ${state}`)}, and the database says ${await read()}`);
await giveBack(asked.output.execution_id);

const { bounds } = await requester.elevation.dynamicBounds();
tell(`may put together: ${bounds.map(({ provider, groups }) => `${provider} ${groups.allow}`)}`);
const own = { providers: ['demo-postgres'], groups: ['reporting_readonly'], reason: 'one look', duration: 'PT5M' };
tell(`another person: ${await refusal(bystander.elevation.requestDynamic(own))}`);
tell(`not everything: ${await refusal(requester.elevation.requestDynamic({ ...own, groups: ['pg_read_all_data'] }))}`);
const dynamic = await requester.elevation.requestDynamic(own);
await obtain(dynamic.output.execution_id);
tell(`put together, and the database says ${await read()}`);
await giveBack(dynamic.output.execution_id);
tell(`left: ${(await requester.access.list()).access.length}`);
