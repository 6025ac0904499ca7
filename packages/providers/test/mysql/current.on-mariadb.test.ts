import { findFreePort } from '@belay/host';
import { programs } from '@belay/targets';
import { createConnection } from 'mysql2/promise';
import { afterEach, describe, expect, it } from 'vitest';
import { Retryable } from '../../src/index.js';
import { canRead, type MysqlServer, openServer } from './server.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const calm = () => new AbortController().signal;

describe('a MariaDB that may be outdated', () => {
  const servers: MysqlServer[] = [];
  afterEach(async () => {
    for (const one of servers.splice(0)) await one.close();
  });
  const open = async (settings?: readonly string[]) => {
    const server = await openServer(settings);
    servers.push(server);
    return server;
  };

  it('settles nothing while it is read-only, also for a user who may write there', async () => {
    const server = await open();
    await server.admin.query("grant read_only admin on *.* to belay@'%'");
    const role = await server.role();
    const login = await server.login();
    const entitlement = { id: 'of-a-replica', identity: login.identity, access: { role } };
    const authorizer = await server.authorizer();
    await authorizer.ensurePresent(entitlement, until, calm());
    await server.admin.query('set global read_only = 1');
    for (const call of [
      () => authorizer.holds(entitlement, calm()),
      () => authorizer.ensureAbsent(entitlement, calm()),
      () => authorizer.ensurePresent(entitlement, until, calm()),
      () => authorizer.target(calm()),
    ]) {
      await expect(call()).rejects.toThrow('The server is read-only, as a replica is, so it settles nothing');
      await expect(call()).rejects.toBeInstanceOf(Retryable);
    }
    expect(await canRead(login, role)).toBe(true);
    await server.admin.query('set global read_only = 0');
    await authorizer.ensureAbsent(entitlement, calm());
    expect(await canRead(login, role)).toBe(false);
  });

  it('names a writable replica, and a second schema of Belay, as weaknesses', async () => {
    const primary = await open(['--log-bin', '--server-id=1', '--binlog-format=ROW']);
    const replica = await open(['--server-id=2']);
    const weaknesses = async (server: MysqlServer) =>
      ((await (await server.client()).weaknesses?.(calm())) ?? []).map(({ message }) => message);
    expect(await weaknesses(replica)).toEqual([]);
    await primary.admin.query("create user copy@'%' identified by 'copy'; grant replication slave on *.* to copy@'%'");
    const [[at]] = (await primary.admin.query('show master status')) as unknown as [
      [{ File: string; Position: number }],
    ];
    await replica.admin.query(
      `change master to master_host = '127.0.0.1', master_port = ${primary.target.port}, master_user = 'copy',
       master_password = 'copy', master_log_file = '${at.File}', master_log_pos = ${at.Position}; start slave`,
    );
    await expect
      .poll(() => weaknesses(replica))
      .toEqual([expect.stringMatching(/^the server is writable and replicates/)]);
    await primary.admin.query(
      "create user belay_two@'%' identified by 'x'; grant references on `belay:%`.* to belay_two@'%' with grant option",
    );
    expect(await weaknesses(primary)).toEqual([expect.stringContaining('with the user belay_two@%')]);
  });

  it('waits for a node of a Galera cluster that is not synced, and each statement for what others committed', async () => {
    const port = await findFreePort('127.0.0.1');
    const server = await open([
      '--wsrep-on=ON',
      `--wsrep-provider=${programs.galera}`,
      '--wsrep-cluster-address=gcomm://',
      '--wsrep-node-address=127.0.0.1',
      `--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:${port}`,
      '--wsrep-sst-method=skip',
      '--binlog-format=ROW',
      '--innodb-autoinc-lock-mode=2',
    ]);
    const role = await server.role();
    const login = await server.login();
    const entitlement = { id: 'of-a-node', identity: login.identity, access: { role } };
    const authorizer = await server.authorizer();
    await authorizer.ensurePresent(entitlement, until, calm());
    expect(await authorizer.holds(entitlement, calm())).toBe(true);
    const watching = await createConnection({ socketPath: server.target.socket, user: server.target.admin });
    await watching.query('set global wsrep_desync = ON');
    await expect(authorizer.holds(entitlement, calm())).rejects.toThrow(
      'The server is not synced with its Galera cluster, so it settles nothing',
    );
    await expect(authorizer.ensureAbsent(entitlement, calm())).rejects.toBeInstanceOf(Retryable);
    await watching.query('set global wsrep_desync = OFF');
    watching.destroy();
    await expect
      .poll(() =>
        authorizer.ensureAbsent(entitlement, calm()).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    expect(await authorizer.holds(entitlement, calm())).toBe(false);
  });
});
