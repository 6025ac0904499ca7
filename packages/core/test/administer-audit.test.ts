import { type ActorContext, compareConfigurations, exportAudit, listAudit, listConfigurations } from '@belay/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OverseenCast, openOverseenCast, overseers } from './support/overseers.js';
import { ask, catalogWith } from './support/stories.js';

const base = { ...catalogWith({}), access: overseers } as unknown as {
  providers: Record<string, object>;
  roles: Record<string, object>;
};
let cast: OverseenCast;
let otto: ActorContext;
let olga: ActorContext;
let request: string;
beforeAll(async () => {
  cast = await openOverseenCast(base);
  ({ olga, otto } = cast);
  request = await ask(cast.house, cast.ada, { workflow: 'automatic' });
  await ask(cast.house, cast.alan, { workflow: 'automatic' });
});
afterAll(() => cast[Symbol.asyncDispose]());

describe('the audit log', () => {
  it('is read whole by overseers, newest first, in pages without gaps or repeats, and by no one else', async () => {
    const whole = await listAudit(otto, {});
    const ids = whole.logs.map(({ id }) => Number(id));
    expect([whole.next, ids.length > 8]).toEqual([null, true]);
    const paged: number[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await listAudit(olga, { limit: 3, cursor });
      // Each reader is recorded, which the other one sees.
      paged.push(...page.logs.filter(({ type }) => type !== 'audit.read').map(({ id }) => Number(id)));
      if (page.next === null) break;
      cursor = page.next;
    }
    expect(paged).toEqual(ids);
    await expect(listAudit(cast.ada, {})).rejects.toMatchObject({ code: 'forbidden' });
    await expect(exportAudit(cast.ada, {})).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('is narrowed by person, role, provider, event, level, time and request, and never widened', async () => {
    // Each of these readings is recorded itself.
    const found = async (filter: object) =>
      (await listAudit(otto, filter)).logs.filter(({ type }) => type !== 'audit.read');
    const logs = await found({});
    const same = async (filter: object, fits: (entry: (typeof logs)[number]) => boolean) => {
      const expected = logs.filter(fits);
      expect(expected.length).toBeGreaterThan(0);
      expect(await found(filter)).toEqual(expected);
    };
    await same({ user: 'ADA@example.com' }, ({ actor, user }) => [actor, user].includes('ada@example.com'));
    await same({ role: 'reader' }, ({ role }) => role === 'reader');
    await same({ provider: 'memory' }, ({ provider }) => provider === 'memory');
    await same({ type: 'elevation.requested' }, ({ type }) => type === 'elevation.requested');
    await same({ execution_id: request }, ({ execution_id: id }) => id === request);
    await same({ level: 'info' }, ({ level }) => level === 'info');
    const at = logs[3]?.timestamp ?? '';
    await same({ since: at }, ({ timestamp }) => timestamp >= at);
    for (const filter of [{ user: 'ghost@example.com' }, { role: "' or true --" }, { execution_id: 'x' }]) {
      expect(await found(filter)).toEqual([]);
    }
    for (const cursor of ['1', '1.2.3', "1.1' or true", '9'.repeat(40)]) {
      await expect(listAudit(otto, { cursor })).rejects.toMatchObject({ code: 'invalid' });
    }
    // A position that no page returned is valid too: it shows the entries before it, and no others.
    expect((await listAudit(otto, { cursor: '1.1', user: 'ada@example.com' })).logs).toEqual([]);
  });

  it('records its export with who and which filter, before anything is read', async () => {
    const { logs } = await exportAudit(otto, { type: 'audit.exported', format: 'csv' });
    expect(logs).toEqual([
      expect.objectContaining({ actor: 'otto@example.com', data: { filter: { type: 'audit.exported' } } }),
    ]);
  });

  it('records an export that begins with a position of its own, once for its pages', async () => {
    const { database } = cast.house;
    const count = async (type: string) =>
      (await database.sql`select from ledger where type = ${type} and data -> 'filter' = '{"level": "error"}'`).length;
    const cursor = '99999999999999999.1';
    await exportAudit(otto, { level: 'error', cursor });
    await exportAudit(otto, { level: 'error', cursor });
    expect(await count('audit.exported')).toBe(1);
    await exportAudit(olga, { level: 'error', cursor });
    await exportAudit(otto, { level: 'error' });
    expect(await count('audit.exported')).toBe(3);
    await database.advance(2 * 60 * 60_000);
    await exportAudit(otto, { level: 'error', cursor });
    expect(await count('audit.exported')).toBe(4);
  });

  it('records who reads its pages, once an hour for the same filter, also from any position', async () => {
    const { sql } = cast.house.database;
    const before = (await sql`select from ledger where type = 'audit.read'`).length;
    for (const filter of [{ level: 'warning' as const }, { level: 'warning' as const, cursor: '99999999999999999.1' }])
      await listAudit(otto, filter);
    await listAudit(otto, { since: '2020-01-01T00:00:00Z' });
    const read = await sql`select user_id, data from ledger where type = 'audit.read' order by seq offset ${before}`;
    expect(read).toEqual([
      { user_id: otto.actor.kind === 'user' && otto.actor.id, data: { filter: { level: 'warning' } } },
      expect.objectContaining({ data: { filter: { since: '2020-01-01T00:00:00Z' } } }),
    ]);
  });

  it('finds the requests of a person beside a long history in a bounded search, page after page', async () => {
    const { sql } = cast.house.database;
    await sql`
      insert into ledger (at, type, level, message, actor)
      select app_now() + n * interval '1 millisecond', 'filler', 'info', 'filler', '{"system": "test"}'
      from generate_series(1, 45000) n`;
    const found: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined; ; pages += 1) {
      const page = await listAudit(otto, { type: 'elevation.requested', cursor });
      found.push(...page.logs.map(({ execution_id: id }) => id));
      if (page.next === null) break;
      cursor = page.next;
    }
    expect([found.length, found.includes(request), pages]).toEqual([2, true, 4]);
    await sql`delete from ledger where type = 'filler'`;
  });
});

describe('changes of the configuration', () => {
  it('are listed by version, and compared key by key with who may see them and no one else', async () => {
    const { house } = cast;
    const { reader } = base.roles;
    await house.applyCatalog({
      ...base,
      roles: { ...base.roles, reader: { ...reader, max_duration: 'PT2H' }, other: reader },
    });
    const { versions } = await listConfigurations(otto, {});
    expect(versions.map(({ version, source }) => [version, source])).toEqual([
      ['1.0.2', 'test'],
      ['1.0.1', 'test'],
    ]);
    const diff = await compareConfigurations(otto, { version: '1.0.2' });
    expect(diff).toMatchObject({ from: { version: '1.0.1' }, to: { version: '1.0.2' }, truncated: false });
    expect(diff.changes).toContainEqual({
      path: 'roles.reader.max_duration',
      change: 'changed',
      before: '"PT8H"',
      after: '"PT2H"',
      hidden: false,
    });
    expect(diff.changes.every(({ path }) => /^roles\.(reader\.max_duration|other\.)/.test(path))).toBe(true);
    expect(diff.sections).toEqual([{ section: 'roles', added: 1, removed: 0, changed: 1 }]);
    const first = await compareConfigurations(otto, { version: '1.0.1' });
    expect([first.from, first.changes.length > 5]).toEqual([null, true]);
    await expect(compareConfigurations(cast.ada, { version: '1.0.2' })).rejects.toMatchObject({ code: 'forbidden' });
    await expect(compareConfigurations(otto, { version: '1.0.99' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(compareConfigurations(otto, { version: '2' })).rejects.toMatchObject({ code: 'invalid' });
  });

  it('show no secret, under any key of a provider, a service or a workflow', async () => {
    const { sql } = cast.house.database;
    const secrets = ['hunter2', 'plain-in-odd-key', 'Bearer abc', 'p4ss', 'in-a-list', 'T0KEN'];
    const store = (version: number, suffix: string) => sql`
      insert into catalogs (version, document, digest, source) values (${version}, ${sql.json({
        providers: {
          db: {
            provider: 'postgres',
            config: {
              password: `hunter2${suffix}`,
              odd: { key: `plain-in-odd-key${suffix}` },
              url: `postgres://u:p4ss${suffix}@host/db`,
              list: [`in-a-list${suffix}`],
              host: `db${suffix}.example`,
              port: suffix.length,
              reference: suffix ? '${env:B}' : '${env:A}',
            },
          },
          // Every person who knows such an address can post to it.
          hook: { provider: 'webhook', config: { url: `https://hooks.example.com/services/T0KEN${suffix}` } },
          okta: { provider: 'okta', config: { url: `https://okta${suffix}.example.com` } },
        },
        services: { llm: { key: `hunter2${suffix}` } },
        workflows: {
          w: {
            workflow: { do: [{ a: { call: 'http', with: { headers: { authorization: `Bearer abc${suffix}` } } } }] },
          },
        },
      })}, ${`d${version}`}, 'test')`;
    await store(100, '');
    await store(101, '-new');
    const { changes } = await compareConfigurations(otto, { version: '1.0.101', from: '1.0.100' });
    const text = JSON.stringify(changes);
    for (const secret of secrets) expect(text).not.toContain(secret);
    const of = (path: string) => changes.find((change) => change.path === path);
    expect(of('providers.db.config.password')).toMatchObject({ change: 'changed', hidden: true, before: null });
    expect(of('providers.db.config.host')).toMatchObject({ before: '"db.example"', after: '"db-new.example"' });
    expect(of('providers.db.config.reference')).toMatchObject({ after: '"${env:B}"', hidden: false });
    expect(of('providers.okta.config.url')).toMatchObject({ after: '"https://okta-new.example.com"', hidden: false });
    expect(changes).toHaveLength(11);
    await sql`delete from catalogs where version >= 100`;
  });

  it('are compared in bounded time and answer, however long they are', async () => {
    const { sql } = cast.house.database;
    const roles = (word: string) =>
      Object.fromEntries(
        Array.from({ length: 5_000 }, (_, n) => [`r${n}`, { description: `${word} ${n}`, providers: ['memory'] }]),
      );
    await sql`insert into catalogs (version, document, digest, source) values
      (200, ${sql.json({ roles: roles('one') })}, 'a', 'test'), (201, ${sql.json({ roles: roles('two') })}, 'b', 'test')`;
    const started = performance.now();
    const { changes, truncated } = await compareConfigurations(otto, { version: '1.0.201', from: '1.0.200' });
    expect([changes.length, truncated]).toEqual([500, true]);
    expect(performance.now() - started).toBeLessThan(5_000);
    await sql`delete from catalogs where version >= 200`;
  });
});
