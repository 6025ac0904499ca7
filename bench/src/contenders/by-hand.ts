import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { serveContender } from '../compare/serve.js';
import { createTarget } from '../compare/target.js';

/**
 * The rows of an elevation written by hand: five statements, each a commit of its own, without recovery after a crash, approvals or
 * workflows. This is an upper bound, not a product.
 */
const tables = `
  create table if not exists executions (
    id uuid primary key, workflow text not null, definition_digest text not null, owner text not null, input jsonb not null,
    status text not null, state jsonb not null, version integer not null default 0,
    created_at timestamptz not null default now(), started_at timestamptz, ended_at timestamptz
  );
  create index if not exists executions_running_idx on executions (owner, created_at) where ended_at is null;
  create table if not exists steps (
    execution_id uuid not null references executions, key text not null, kind text not null, status text not null,
    request jsonb not null, attempt integer not null default 0, due_at timestamptz, lease_until timestamptz,
    opened_at timestamptz not null default now(), closed_at timestamptz, primary key (execution_id, key)
  );
  create index if not exists steps_due_idx on steps (due_at) where status = 'open';
  create table if not exists entitlements (
    id uuid primary key, provider text not null, identity text not null, access jsonb not null, state text not null,
    fence integer not null default 0, due_at timestamptz, lease_until timestamptz, last_grant_call_at timestamptz,
    unique (provider, identity, access)
  );
  create index if not exists entitlements_due_idx on entitlements (due_at) where due_at is not null;
  create table if not exists grants (
    id uuid primary key, execution_id uuid not null references executions, entitlement_id uuid not null references entitlements,
    owner text not null, duration_ms bigint not null, created_at timestamptz not null default now(), activated_at timestamptz,
    expires_at timestamptz, ended_at timestamptz, end_reason text, gone_at timestamptz
  );
  create index if not exists grants_entitlement_idx on grants (entitlement_id) where gone_at is null;
  create table if not exists ledger (
    seq bigint generated always as identity primary key, at timestamptz not null default now(), type text not null,
    message text not null, actor jsonb not null, execution_id uuid, entitlement_id uuid, data jsonb
  );
  create index if not exists ledger_execution_idx on ledger (execution_id, seq);
`;

const hour = 3_600_000;
/** About as much as Belay stores of an execution between two of its tasks. */
const state = { at: '/do/0/grant', tasks: [{ reference: '/do/0/grant', status: 'running' }], variables: {} };
const input = { role: 'reader', reason: 'a benchmark', duration: 'PT1H', providers: ['memory'], workflow: 'automatic' };

await serveContender(async (url) => {
  const sql = postgres(url, { max: 20, onnotice() {} });
  await sql.unsafe(tables);
  const target = createTarget();
  const told = (id: string, types: string[], data: object) =>
    sql`insert into ledger (type, message, actor, execution_id, data)
      select type, 'A line that tells what happened to a request', '{"kind": "system", "name": "bench"}', ${id}, ${sql.json(data as postgres.JSONValue)}
      from unnest(${types}::text[]) type`;
  return {
    async elevate(index) {
      const person = `person${index}@example.com`;
      const [id, entitlement] = [randomUUID(), randomUUID()];
      await sql`with execution as (
          insert into executions (id, workflow, definition_digest, owner, input, status, state, started_at)
          values (${id}, 'automatic', 'a digest', ${person}, ${sql.json(input)}, 'running', ${sql.json(state)}, now())
        ), step as (
          insert into steps (execution_id, key, kind, status, request, due_at, lease_until, attempt)
          values (${id}, '/do/0/grant', 'call', 'open', ${sql.json(input)}, now(), now() + interval '45 seconds', 1)
        ) ${told(id, ['elevation.requested', 'workflow.started', 'task.started'], input)}`;
      await sql`with entitlement as (
          insert into entitlements (id, provider, identity, access, state, fence, due_at, lease_until, last_grant_call_at)
          values (${entitlement}, 'memory', ${person}, '{"role": "read"}', 'granting', 1, now(), now() + interval '45 seconds', now())
          on conflict (provider, identity, access) do update set state = 'granting', fence = entitlements.fence + 1,
            due_at = now(), lease_until = now() + interval '45 seconds', last_grant_call_at = now()
          returning id
        ), granting as (
          insert into grants (id, execution_id, entitlement_id, owner, duration_ms)
          select ${randomUUID()}, ${id}, id, ${person}, ${hour} from entitlement
        ) ${told(id, ['grant.intended'], { digest: 'a digest' })}`;
      await target.grant(person, 'read');
      if (!(await target.holds(person, 'read'))) throw new Error('The target does not hold what it was told to grant');
      await sql`with activated as (
          update grants set activated_at = now(), expires_at = now() + duration_ms * interval '1 millisecond'
          where execution_id = ${id} returning entitlement_id, expires_at
        ), held as (
          update entitlements set state = 'granted', lease_until = null, due_at = activated.expires_at
          from activated where entitlements.id = activated.entitlement_id
        ), step as (
          update steps set status = 'done', closed_at = now() where execution_id = ${id}
        ), execution as (
          update executions set status = 'completed', state = ${sql.json(state)}, version = version + 1, ended_at = now()
          where id = ${id}
        ) ${told(id, ['entitlement.granted', 'task.completed', 'workflow.completed'], { verified: true })}`;
      await sql`with ended as (
          update grants set ended_at = now(), end_reason = 'returned' where execution_id = ${id} returning entitlement_id
        ), owed as (
          update entitlements set state = 'revoking', fence = fence + 1, due_at = now(), lease_until = now() + interval '45 seconds'
          from ended where entitlements.id = ended.entitlement_id
        ) ${told(id, ['grant.ended'], { reason: 'returned' })}`;
      await target.revoke(person, 'read');
      if (await target.holds(person, 'read')) throw new Error('The target still holds what it was told to revoke');
      await sql`with gone as (
          update grants set gone_at = now() where execution_id = ${id} returning entitlement_id
        ), settled as (
          update entitlements set state = 'absent', lease_until = null, due_at = null
          from gone where entitlements.id = gone.entitlement_id
        ) ${told(id, ['entitlement.revoked'], { verified: true })}`;
    },
    close: () => sql.end(),
  };
});
