import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ProviderClient, postgresConnector, Retryable, Terminal } from '../../src/index.js';
import { type ByNames, byNames } from '../../src/testkit/index.js';
import { hasFifteen, startFifteen } from './fifteen.js';
import { openTestServer, type TestServer } from './server.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const calm = () => new AbortController().signal;

describe.runIf(hasFifteen())('the postgres authorizer before PostgreSQL 16', () => {
  let fifteen: Awaited<ReturnType<typeof startFifteen>>;
  let server: TestServer;
  const clients: ProviderClient[] = [];

  const open = (config: Record<string, unknown> = {}): Omit<ProviderClient, 'authorizer'> & { authorizer: ByNames } => {
    const client = postgresConnector.create(
      postgresConnector.config.parse({ url: server.url(), email_domains: ['example.test'], ...config }),
      {
        now: Date.now,
        log: () => {},
      },
    );
    clients.push(client);
    if (!client.authorizer) throw new Error('the connector has no authorizer');
    return { ...client, authorizer: byNames(client.authorizer) };
  };
  const accepting = () => open({ accept_objects_left_behind: true }).authorizer;
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => 'it went well',
      (error: unknown) => error,
    );
  const fresh = async () => {
    const [role, user] = [await server.role(), await server.login()];
    await server.admin.unsafe(`grant select on report to ${role}`);
    return { role, user, one: { id: 'e', identity: user.name, access: { role } } };
  };

  beforeAll(async () => {
    fifteen = await startFifteen();
    server = await openTestServer(fifteen.url);
    await server.admin`create table report as select 42 as answer`;
    await server.admin.unsafe('create schema free; grant usage, create on schema free to public');
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await server?.close();
    await fifteen?.stop();
  });

  it('rejects every grant, because a member could become the role, unless that is accepted', async () => {
    expect(server.version).toBeLessThan(160_000);
    const { one } = await fresh();
    const client = open();
    const error = await failure(client.authorizer.ensurePresent(one, until, calm()));
    expect(error).toBeInstanceOf(Terminal);
    expect((error as Error).message).toContain('accept_objects_left_behind');
    expect(await client.authorizer.holds(one, calm())).toBe(false);
    expect(client.authorizer.leavesBehind).toBeUndefined();
    // This obstacle is reported before an approval is requested.
    expect(await client.obstacles?.([one.access], calm())).toMatchObject([
      { access: one.access, message: expect.stringContaining('nothing is granted on PostgreSQL 15') },
    ]);
    expect(await open({ accept_objects_left_behind: true }).obstacles?.([one.access], calm())).toEqual([]);
  });

  it('grants where that is accepted, and reports what may be left behind', async () => {
    const { one, user } = await fresh();
    const authorizer = accepting();
    expect(authorizer.leavesBehind).toContain('objects');
    await authorizer.ensurePresent(one, until, calm());
    expect(await server.connect(user)`select answer from public.report`).toEqual([{ answer: 42 }]);
    await authorizer.ensureAbsent(one, calm());
    await expect(server.connect(user)`select answer from public.report`).rejects.toThrow('permission denied');
  });

  it('ends the session that became the role, and names the function that it left, until that is gone', async () => {
    const { one, user, role } = await fresh();
    const authorizer = accepting();
    await authorizer.ensurePresent(one, until, calm());
    const sql = server.connect(user);
    const [before] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`;
    await sql.unsafe(`set role ${role}`);
    await sql.unsafe(
      `create function free.kept() returns setof int language sql security definer as 'select answer from public.report'`,
    );
    const error = await failure(authorizer.ensureAbsent(one, calm()));
    expect(error).toBeInstanceOf(Retryable);
    expect((error as Error).message).toContain('function free.kept()');
    expect(await authorizer.holds(one, calm())).toBe(false);
    expect(await server.admin`select from pg_stat_activity where pid = ${before.pid}`).toEqual([]);
    await server.admin`drop function free.kept()`;
    await authorizer.ensureAbsent(one, calm());
  });

  it('rejects a role that can sign in: a member could change its password', async () => {
    const [role, user] = [await server.login(), await server.login()];
    const one = { id: 'e', identity: user.name, access: { role: role.name } };
    const error = await failure(accepting().ensurePresent(one, until, calm()));
    expect((error as Error).message).toContain('can sign in, and before');
  });

  it('leaves the membership that another administrator granted after an end, and names them', async () => {
    const { one, role, user } = await fresh();
    const authorizer = accepting();
    await authorizer.ensurePresent(one, until, calm());
    await authorizer.ensureAbsent(one, calm());
    const colleague = await server.role();
    await server.admin.unsafe(`grant ${role} to ${colleague} with admin option`);
    await server.admin.unsafe(`set role ${colleague}; grant ${role} to ${user.name}; reset role`);
    await expect(authorizer.ensureAbsent(one, calm())).rejects.toMatchObject({
      name: 'LeftToOthers',
      message: `The membership is also granted by ${colleague}, which Belay does not revoke`,
    });
    expect(await authorizer.holds(one, calm())).toBe(true);
  });

  it('handles concurrent calls, and stands by', async () => {
    const { one } = await fresh();
    const authorizer = accepting();
    await authorizer.standBy?.(calm());
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        Array.from({ length: 4 }, () => [
          authorizer.ensurePresent(one, until, calm()),
          authorizer.ensureAbsent(one, calm()),
        ]).flat(),
      );
    }
    await authorizer.ensureAbsent(one, calm());
    expect(await authorizer.holds(one, calm())).toBe(false);
    await authorizer.standDown?.();
  });
});
