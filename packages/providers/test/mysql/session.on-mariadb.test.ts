import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Retryable } from '../../src/index.js';
import { byNames } from '../../src/testkit/index.js';
import { hostileVariables } from './hostile-variables.js';
import { canRead, type MysqlServer, openServer } from './server.js';

const until = new Date('2100-01-01T00:00:00.000Z');
const calm = () => new AbortController().signal;

describe('a MariaDB whose defaults change what statements mean', () => {
  let server: MysqlServer;
  const before = new Map<string, unknown>();
  beforeAll(async () => {
    server = await openServer();
  });
  afterAll(() => server?.close());
  afterEach(async () => {
    for (const [name, value] of before) await server.admin.query(`set global ${name} = ?`, [value]);
    before.clear();
  });

  async function setGlobal(name: string, value: string): Promise<void> {
    const [rows] = await server.admin.query(`select @@global.${name} as value`);
    before.set(name, (rows as { value: unknown }[])[0]?.value);
    await server.admin.query(`set global ${name} = ${value}`);
  }

  it('grants, lists and revokes as ever when all of them are hostile, also to names with other letters', async () => {
    const [first, second] = [await server.role(), await server.role('rolle_ü')];
    const logins = [await server.login(), await server.login('jürgen')];
    for (const [name, value] of Object.entries(hostileVariables)) await setGlobal(name, value);
    const client = await server.client();
    const authorizer = byNames(client.authorizer);
    const made = [first, second].flatMap((role, of) =>
      logins.map(({ identity }, to) => ({ id: `hostile-${of}-${to}`, identity, access: { role } })),
    );
    for (const entitlement of made) await authorizer.ensurePresent(entitlement, until, calm());
    for (const entitlement of made) expect(await authorizer.holds(entitlement, calm())).toBe(true);
    expect((await authorizer.roles(calm())).map(({ name }) => name)).toEqual(expect.arrayContaining([first, second]));
    const listed: unknown[] = [];
    for await (const one of authorizer.list?.(calm()) ?? []) listed.push(one);
    expect(listed).toHaveLength(made.length);
    expect(await client.weaknesses?.(calm())).toEqual([]);
    for (const entitlement of made) await authorizer.ensureAbsent(entitlement, calm());
    for (const entitlement of made) expect(await authorizer.holds(entitlement, calm())).toBe(false);
    for (const login of logins) expect(await canRead(login, first)).toBe(false);
  });

  it('waits while new sessions are read-only, or the server is, and leaves that as it is', async () => {
    const role = await server.role();
    const login = await server.login();
    const entitlement = { id: `of-${role}`.replaceAll('_', '-'), identity: login.identity, access: { role } };
    for (const variable of ['tx_read_only', 'read_only']) {
      await setGlobal(variable, '1');
      const authorizer = await server.authorizer();
      await expect(authorizer.ensurePresent(entitlement, until, calm())).rejects.toBeInstanceOf(Retryable);
      await server.admin.query(`set global ${variable} = 0`);
    }
    const authorizer = await server.authorizer();
    await authorizer.ensurePresent(entitlement, until, calm());
    expect(await canRead(login, role)).toBe(true);
    await authorizer.ensureAbsent(entitlement, calm());
  });
});
