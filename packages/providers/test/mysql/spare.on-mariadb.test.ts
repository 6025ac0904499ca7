import type { Connection } from 'mysql2/promise';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { mysqlConnector, Retryable } from '../../src/index.js';
import { type Database, openDatabase, type Statements } from '../../src/mysql/database.js';
import { type MysqlServer, openServer } from './server.js';

const calm = () => new AbortController().signal;
const numberOf = async (sql: Statements) => (await sql.rows<{ id: number }>('select connection_id() as id'))[0]?.id;

describe('the connection that stands by, at a MariaDB with no free connection', () => {
  let server: MysqlServer;
  let database: Database;
  let other: Connection;

  beforeAll(async () => {
    server = await openServer();
    await server.admin.query("grant usage on *.* to belay@'%' with max_user_connections 2");
  });
  beforeEach(async () => {
    database = openDatabase(mysqlConnector.config.parse({ url: server.url, email_domains: ['example.test'] }));
    await database.standBy(calm());
    other = await server.connectAsBelay();
  });
  afterEach(async () => {
    other.destroy();
    await database.close();
    const open = async () =>
      (await server.admin.query("select id from information_schema.processlist where user = 'belay'"))[0];
    await expect.poll(open).toEqual([]);
  });
  afterAll(() => server.close());

  it('is replaced after a statement that never ends, behind which no call waits longer than its own limit', async () => {
    const before = await database.use(calm(), numberOf);
    await expect(database.use(calm(), (sql) => sql.rows('select sleep(120)'))).rejects.toBeInstanceOf(Retryable);
    await expect(database.use(calm(), numberOf)).rejects.toBeInstanceOf(Retryable);
    await other.end();
    await database.standBy(calm());
    expect(await database.use(calm(), numberOf)).not.toBe(before);
    await server.admin.query(`kill ${before}`);
  });

  it('is not opened any more after the database was closed', async () => {
    const closing = database.close();
    const late = database.standBy(calm());
    late.catch(() => {});
    await closing;
    await expect(late).rejects.toBeInstanceOf(Retryable);
    await expect(database.standBy(calm())).rejects.toBeInstanceOf(Retryable);
  });
});
