import { DBOS } from '@dbos-inc/dbos-sdk';
import { PostgresDataSource } from '@dbos-inc/postgres-datasource';
import postgres from 'postgres';
import { serveContender } from '../compare/serve.js';
import { createTarget } from '../compare/target.js';
import { isApproved, type Shape, shapes } from '../shapes.js';

/**
 * The same elevation as a TypeScript engineer would write it on DBOS: one workflow, a step for the validation and for each change at the
 * target, a transaction for each record, a row for the approval, and messages for the decision and the return. It writes the rows of
 * by-hand.ts except those about executions and steps, which DBOS stores itself, in one statement for each transaction.
 */
const tables = `
  create table if not exists requests (
    id text primary key, owner text not null, input jsonb not null, status text not null,
    created_at timestamptz not null default now(), ended_at timestamptz
  );
  create index if not exists requests_running_idx on requests (owner, created_at) where ended_at is null;
  create table if not exists approvals (
    request_id text primary key references requests (id), rule jsonb not null, status text not null,
    created_at timestamptz not null default now(), expires_at timestamptz not null, decided_at timestamptz, decided_by text
  );
  create index if not exists approvals_open_idx on approvals (created_at) where status = 'open';
  create table if not exists entitlements (
    id uuid primary key, provider text not null, identity text not null, access jsonb not null, state text not null,
    unique (provider, identity, access)
  );
  create table if not exists grants (
    request_id text primary key references requests (id), entitlement_id uuid not null references entitlements,
    owner text not null, created_at timestamptz not null default now(), activated_at timestamptz, expires_at timestamptz,
    ended_at timestamptz, end_reason text, gone_at timestamptz
  );
  create index if not exists grants_entitlement_idx on grants (entitlement_id) where gone_at is null;
  create table if not exists ledger (
    seq bigint generated always as identity primary key, at timestamptz not null default now(), type text not null,
    message text not null, actor jsonb not null, request_id text, data jsonb
  );
  create index if not exists ledger_request_idx on ledger (request_id, seq);
`;

const duration = 15 * 60;
const patience = 4 * 60 * 60;
const rule = JSON.stringify({ groups: ['approvers'], count: 1 });

/** The workflows with which each role can be requested. */
const roles = new Map<string, readonly Shape[]>([['reader', shapes]]);

interface Decision {
  approver: string;
  verdict: 'approve' | 'deny';
}

await serveContender(async (url) => {
  const setUp = postgres(url, { onnotice() {} });
  await setUp.unsafe(tables);
  await setUp.end();
  const source = new PostgresDataSource('access', { ...partsOf(url), max: 20, onnotice() {} });
  const target = createTarget();
  const asked = new Map<string, () => void>();
  const active = new Map<string, () => void>();
  const write = (name: string, statements: () => Promise<void>) => source.runTransaction(statements, { name });

  const told = (id: string, types: string[], data: object) =>
    source.client`insert into ledger (type, message, actor, request_id, data)
      select type, 'A line that tells what happened to a request', '{"kind": "system", "name": "bench"}', ${id},
        ${JSON.stringify(data)}::text::jsonb
      from unnest(${`{${types.join(',')}}`}::text::text[]) type`;

  /** The intent to grant, as parts of a statement. */
  const intending = (id: string, person: string) =>
    source.client`entitlement as (
        insert into entitlements (id, provider, identity, access, state)
        values (gen_random_uuid(), 'memory', ${person}, '{"role": "read"}', 'granting')
        on conflict (provider, identity, access) do update set state = 'granting'
        returning id
      ), granting as (
        insert into grants (request_id, entitlement_id, owner) select ${id}, id, ${person} from entitlement
      )`;

  async function elevate(person: string, role: string, shape: Shape): Promise<void> {
    const id = DBOS.workflowID ?? '';
    const input = JSON.stringify({
      role,
      reason: 'a benchmark',
      duration: 'PT1H',
      providers: ['memory'],
      workflow: shape,
    });
    const isValid = await DBOS.runStep(async () => roles.get(role)?.includes(shape) ?? false, { name: 'validate' });
    if (!isValid) throw new Error('The role cannot be requested with this workflow');
    if (isApproved(shape)) {
      await write('request an approval', async () => {
        await source.client`with request as (
            insert into requests (id, owner, input, status) values (${id}, ${person}, ${input}::text::jsonb, 'running')
          ), approval as (
            insert into approvals (request_id, rule, status, expires_at)
            values (${id}, ${rule}::text::jsonb, 'open', now() + ${patience} * interval '1 second')
          ) ${told(id, ['elevation.requested', 'approval.requested'], { digest: 'a digest' })}`;
      });
      // The approver is notified in memory, so that they do not poll.
      asked.get(person)?.();
      const decision = await DBOS.recv<Decision>('decision', patience);
      if (decision?.verdict !== 'approve') throw new Error('The request was not approved');
      await write('record the decision', async () => {
        await source.client`with decided as (
            update approvals set status = 'approved', decided_at = now(), decided_by = ${decision.approver}
            where request_id = ${id}
          ), ${intending(id, person)} ${told(id, ['approval.decided', 'grant.intended'], { digest: 'a digest' })}`;
      });
    } else {
      await write('request', async () => {
        await source.client`with request as (
            insert into requests (id, owner, input, status) values (${id}, ${person}, ${input}::text::jsonb, 'running')
          ), ${intending(id, person)} ${told(id, ['elevation.requested', 'grant.intended'], { digest: 'a digest' })}`;
      });
    }
    await DBOS.runStep(
      async () => {
        await target.grant(person, role);
        if (!(await target.holds(person, role))) throw new Error('The target does not hold what it was told to grant');
      },
      { name: 'grant' },
    );
    await write('record the grant', async () => {
      await source.client`with activated as (
          update grants set activated_at = now(), expires_at = now() + ${duration} * interval '1 second'
          where request_id = ${id} returning entitlement_id
        ), held as (
          update entitlements set state = 'granted' from activated where entitlements.id = activated.entitlement_id
        ) ${told(id, ['entitlement.granted'], { verified: true })}`;
    });
    // The caller is notified in memory, so that it does not poll.
    active.get(person)?.();
    const returned = await DBOS.recv<string>('return', duration);
    const end = returned === null ? 'expired' : 'returned';
    await write('record the end', async () => {
      await source.client`with ended as (
          update grants set ended_at = now(), end_reason = ${end} where request_id = ${id} returning entitlement_id
        ), owed as (
          update entitlements set state = 'revoking' from ended where entitlements.id = ended.entitlement_id
        ) ${told(id, ['grant.ended'], { reason: end })}`;
    });
    await DBOS.runStep(
      async () => {
        await target.revoke(person, role);
        if (await target.holds(person, role)) throw new Error('The target still holds what it was told to revoke');
      },
      { name: 'revoke' },
    );
    await write('record the loss', async () => {
      await source.client`with gone as (
          update grants set gone_at = now() where request_id = ${id} returning entitlement_id
        ), settled as (
          update entitlements set state = 'absent' from gone where entitlements.id = gone.entitlement_id
        ), request as (
          update requests set status = 'completed', ended_at = now() where id = ${id}
        ) ${told(id, ['entitlement.revoked'], { verified: true })}`;
    });
  }

  const workflow = DBOS.registerWorkflow(elevate, { name: 'elevate' });
  DBOS.setConfig({ name: 'belay-bench', systemDatabaseUrl: url, systemDatabasePoolSize: 20, logLevel: 'error' });
  await DBOS.launch();
  return {
    async elevate(index, shape) {
      const person = `person${index}@example.com`;
      const waiting = new Promise<void>((resolve) => asked.set(person, resolve));
      const granted = new Promise<void>((resolve) => active.set(person, resolve));
      const handle = await DBOS.startWorkflow(workflow)(person, 'reader', shape);
      if (isApproved(shape)) {
        await waiting;
        const decision: Decision = { approver: `approver${index % 8}@example.com`, verdict: 'approve' };
        await DBOS.send(handle.workflowID, decision, 'decision');
      }
      await granted;
      await DBOS.send(handle.workflowID, 'returned', 'return');
      await handle.getResult();
    },
    close: () => DBOS.shutdown(),
  };
});

/** Returns a URL as options: the data source has no argument for a URL, and postgres.js does not read one from its options. */
function partsOf(url: string) {
  const { hostname, port, username, password, pathname } = new URL(url);
  const text = decodeURIComponent;
  return {
    host: hostname,
    port: Number(port),
    user: text(username),
    password: text(password),
    database: text(pathname.slice(1)),
  };
}
