import { DBOS } from '@dbos-inc/dbos-sdk';
import { PostgresDataSource } from '@dbos-inc/postgres-datasource';
import postgres from 'postgres';
import { serveContender } from '../compare/serve.js';
import { createTarget } from '../compare/target.js';

/**
 * The same elevation as a TypeScript engineer would write it on DBOS: one workflow, a transaction for what is recorded, a
 * step for each call of the target, and a message for the return. Its tables are few: a request, a grant, an audit log.
 */
const tables = `
  create table if not exists requests (
    id text primary key, person text not null, role text not null, reason text not null, status text not null,
    created_at timestamptz not null default now(), ended_at timestamptz
  );
  create table if not exists grants (
    request_id text primary key references requests (id), person text not null, role text not null, status text not null,
    granted_at timestamptz, expires_at timestamptz, revoked_at timestamptz
  );
  create table if not exists audit (
    seq bigint generated always as identity primary key, request_id text not null, at timestamptz not null default now(),
    type text not null, message text not null
  );
  create index if not exists audit_request_idx on audit (request_id, seq);
`;

const duration = 15 * 60;

await serveContender(async (url) => {
  const setUp = postgres(url, { onnotice() {} });
  await setUp.unsafe(tables);
  await setUp.end();
  const source = new PostgresDataSource('access', { ...partsOf(url), max: 20, onnotice() {} });
  const target = createTarget();
  const active = new Map<string, () => void>();
  const write = (name: string, statements: () => Promise<void>) => source.runTransaction(statements, { name });

  async function elevate(person: string, role: string, reason: string): Promise<void> {
    const id = DBOS.workflowID ?? '';
    const audit = async (type: string, message: string) => {
      await source.client`insert into audit (request_id, type, message) values (${id}, ${type}, ${message})`;
    };
    await write('request', async () => {
      await source.client`insert into requests (id, person, role, reason, status)
        values (${id}, ${person}, ${role}, ${reason}, 'running')`;
      await source.client`insert into grants (request_id, person, role, status) values (${id}, ${person}, ${role}, 'granting')`;
      await audit('elevation.requested', `${person} requested ${role}`);
    });
    await DBOS.runStep(
      async () => {
        await target.grant(person, role);
        if (!(await target.holds(person, role))) throw new Error('The target does not hold what it was told to grant');
      },
      { name: 'grant' },
    );
    await write('record the grant', async () => {
      await source.client`update grants set status = 'granted', granted_at = now(),
        expires_at = now() + ${duration} * interval '1 second' where request_id = ${id}`;
      await audit('entitlement.granted', `${person} holds ${role}`);
    });
    // Told in memory, so that the caller does not poll for it.
    active.get(person)?.();
    const returned = await DBOS.recv<string>('return', duration);
    await write('record the end', async () => {
      await source.client`update grants set status = 'revoking' where request_id = ${id}`;
      await audit(returned === null ? 'grant.expired' : 'grant.ended', `${person} no longer needs ${role}`);
    });
    await DBOS.runStep(
      async () => {
        await target.revoke(person, role);
        if (await target.holds(person, role)) throw new Error('The target still holds what it was told to revoke');
      },
      { name: 'revoke' },
    );
    await write('record the loss', async () => {
      await source.client`update grants set status = 'revoked', revoked_at = now() where request_id = ${id}`;
      await source.client`update requests set status = 'completed', ended_at = now() where id = ${id}`;
      await audit('entitlement.revoked', `${person} does not hold ${role} any more`);
    });
  }

  const workflow = DBOS.registerWorkflow(elevate, { name: 'elevate' });
  DBOS.setConfig({ name: 'belay-bench', systemDatabaseUrl: url, systemDatabasePoolSize: 20, logLevel: 'error' });
  await DBOS.launch();
  return {
    async elevate(index) {
      const person = `person${index}@example.com`;
      const granted = new Promise<void>((resolve) => active.set(person, resolve));
      const handle = await DBOS.startWorkflow(workflow)(person, 'reader', 'a benchmark');
      await granted;
      await DBOS.send(handle.workflowID, 'returned', 'return');
      await handle.getResult();
    },
    close: () => DBOS.shutdown(),
  };
});

/** The data source hands its options to postgres.js, which takes a URL only as an argument of its own. */
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
