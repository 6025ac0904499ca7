import { getExecution, returnAccess } from '@belay/core';
import { openDatabase } from '@belay/db';
import { workHere } from '@belay/testkit/work-here';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { approve, type Cast, catalogWith, openCast, type Person, request, together } from './support/stories.js';

/** Counts the statements of a process, and the commits that wrote something. */
function counting() {
  const open = new Map<number, boolean>();
  const heard: string[] = [];
  let commits = 0;
  return {
    heard,
    commits: () => commits,
    hear(connection: number, statement: string) {
      const verb = /^\s*([a-z]+)/i.exec(statement)?.[1]?.toLowerCase() ?? '';
      heard.push(statement);
      if (verb === 'begin') open.set(connection, false);
      else if (verb === 'commit' || verb === 'rollback') {
        if (verb === 'commit' && open.get(connection)) commits += 1;
        open.delete(connection);
      } else if (/\b(insert into|update|delete from)\b/i.test(statement)) {
        if (open.has(connection)) open.set(connection, true);
        else commits += 1;
      }
    },
  };
}

/** Opens a separate server on the database of a cast, whose statements are counted. */
function openServer({ house }: Cast) {
  const counted = counting();
  const client = openDatabase(house.database.url, { max: 20, onStatement: counted.hear });
  const { ctx, rest } = workHere({ ...house.ctx, db: client.db });
  const as = (person: Person): Person => ({ ...person, ...ctx, actor: person.actor });
  return { counted, rest, as, [Symbol.asyncDispose]: () => client.close() };
}

describe('an elevation that no one has to approve', () => {
  let cast: Cast;
  beforeEach(async () => {
    cast = await openCast({ catalog: catalogWith({ fleeting: [{ grant: { call: 'access.grant' } }] }) });
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  it.each([
    ['automatic', 12, 5],
    ['fleeting', 7, 5],
  ])('takes five commits from the request until the access is gone (%s)', async (workflow, most, commits) => {
    await using server = openServer(cast);
    const { counted, rest } = server;
    const ada = server.as(cast.ada);
    const elevate = async () => {
      const id = await request(ada, { workflow });
      await rest();
      expect((await getExecution(cast.ada, { id })).grants).toMatchObject([{ state: 'active' }]);
      await returnAccess(ada, { execution_id: id });
      await rest();
      const after = await getExecution(cast.ada, { id });
      expect([after.grants[0]?.state, after.status]).toEqual(['gone', 'completed']);
    };
    // The first elevation stores the definition and prepares the statements.
    await elevate();
    const before = [counted.heard.length, counted.commits()] as const;
    await elevate();
    expect(counted.heard.length - before[0]).toBeLessThanOrEqual(most);
    expect(counted.commits() - before[1]).toBeLessThanOrEqual(commits);
  });

  it.each(['automatic', 'fleeting'])(
    'sends only texts that were sent before, which are prepared (%s)',
    async (workflow) => {
      await using server = openServer(cast);
      const { counted, rest } = server;
      const ada = server.as(cast.ada);
      const elevate = async () => {
        const id = await request(ada, { workflow });
        await rest();
        await returnAccess(ada, { execution_id: id });
        await rest();
      };
      // The first elevation grants access that was never granted before, the others access that was.
      for (let time = 0; time < 2; time += 1) await elevate();
      const known = new Set(counted.heard);
      const before = counted.heard.length;
      await elevate();
      expect(counted.heard.length).toBeGreaterThan(before + 4);
      expect(counted.heard.filter((text) => !known.has(text))).toEqual([]);
    },
  );
});

describe('an elevation that one person has to approve', () => {
  const grant = { grant: { call: 'access.grant' } };
  const validate = { validate: { call: 'access.validate' } };
  const stages = [{ approvers: { groups: ['approvers'] } }];
  const asked = [validate, { approve: { call: 'access.approve', with: { stages } } }];
  /** An expression that needs jq, and so a thread. */
  const computed = { set: { computed: '${ [.role, .reason] | map(length) | add }' } };
  let cast: Cast;
  beforeEach(async () => {
    const workflows = {
      fleeting: [...asked, grant],
      computed: [{ computed }, ...asked, grant],
      validated: [validate, grant],
    };
    cast = await openCast({ catalog: catalogWith(workflows) });
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  /** Makes an elevation, and returns what each of its parts took. */
  const elevate = async ({ counted, rest, as }: ReturnType<typeof openServer>, workflow: string) => {
    const [ada, grace] = [as(cast.ada), as(cast.grace)];
    let [statements, commits] = [counted.heard.length, counted.commits()];
    const take = () => {
      const taken = [counted.heard.length - statements, counted.commits() - commits];
      [statements, commits] = [counted.heard.length, counted.commits()];
      return taken;
    };
    const id = await request(ada, { workflow });
    await rest();
    const requested = take();
    if (workflow !== 'validated') await approve(grace, id);
    await rest();
    const active = take();
    expect((await getExecution(cast.ada, { id })).grants).toMatchObject([{ state: 'active' }]);
    await returnAccess(ada, { execution_id: id });
    await rest();
    const gone = take();
    expect(cast.house.provider.held()).toEqual([]);
    return { requested, active, gone };
  };
  const sum = (parts: Record<string, number[]>) =>
    [0, 1].map((of) => Object.values(parts).reduce((all, part) => all + (part[of] ?? 0), 0));

  it.each(['approved', 'fleeting'])('takes six commits and at most twenty statements (%s)', async (workflow) => {
    await using server = openServer(cast);
    await elevate(server, workflow);
    const parts = await elevate(server, workflow);
    // The request with its approval; the decision, the intent and the record; the end and the loss.
    expect(parts).toMatchObject({ requested: [expect.any(Number), 1], active: [expect.any(Number), 3] });
    const [statements, commits] = sum(parts);
    expect(statements).toBeLessThanOrEqual(20);
    expect(commits).toBeLessThanOrEqual(6);
  });

  it('takes a worker and seven commits where an expression needs a thread before the approval', async () => {
    await using server = openServer(cast);
    await elevate(server, 'computed');
    expect((await elevate(server, 'computed')).active[1]).toBe(3);
  });

  it('calls no provider for access.validate, which the plan of the request serves', async () => {
    await using server = openServer(cast);
    await elevate(server, 'validated');
    const before = cast.house.provider.count('identities');
    const [, commits] = sum(await elevate(server, 'validated'));
    expect(commits).toBe(5);
    // The plan of the request and the plan of the grant.
    expect(cast.house.provider.count('identities') - before).toBe(2);
  });
});

describe('elevations of many people at once', () => {
  const names = Array.from({ length: 12 }, (_, index) => `person${index}`);
  let cast: Cast;
  let people: Person[];
  beforeEach(async () => {
    const catalog = catalogWith({ fleeting: [{ grant: { call: 'access.grant' } }] });
    cast = await openCast({ catalog, people: ['ada', ...names] });
    people = await Promise.all(names.map((name) => cast.house.person(name, ['engineers'])));
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  const wanted = { workflow: 'fleeting' };
  const stateOf = async (person: Person, id: string) => (await getExecution(person, { id })).grants[0]?.state;
  /** Returns the ledger entries of a request, with each name replaced by "someone". */
  const told = async (id: string) =>
    (await cast.house.database.sql`select type, message from ledger where execution_id = ${id} order by seq`).map(
      ({ type, message }) => [type, String(message).replaceAll(/person\d+|ada/g, 'someone')],
    );

  it('share their commits, and each writes the same ledger entries as it would alone', async () => {
    await using server = openServer(cast);
    const { counted, rest } = server;
    const elevate = async (all: readonly Person[]) => {
      const ids = await Promise.all(all.map((person) => request(person, wanted)));
      await rest();
      expect(cast.house.provider.held()).toHaveLength(all.length);
      await Promise.all(all.map((person, index) => returnAccess(person, { execution_id: ids[index] ?? '' })));
      await rest();
      expect(cast.house.provider.held()).toEqual([]);
      return ids;
    };
    const [alone = ''] = await elevate([server.as(cast.ada)]);
    const before = counted.commits();
    const ids = await elevate(people.map(server.as));
    // Each elevation alone takes five commits.
    expect(counted.commits() - before).toBeLessThanOrEqual(2 * people.length);
    const expected = await told(alone);
    expect(expected.map(([type]) => type)).toContain('entitlement.revoked');
    for (const id of ids) expect(await told(id)).toEqual(expected);
  });

  it('are given back while one of them is locked, and that one as soon as it is unlocked', async () => {
    await using server = openServer(cast);
    const all = people.map(server.as);
    const ids = await Promise.all(all.map((person) => request(person, wanted)));
    await server.rest();
    const returning = () => all.map((person, index) => returnAccess(person, { execution_id: ids[index] ?? '' }));
    let returned: Promise<unknown>[] = [];
    await cast.house.database.sql.begin(async (holder) => {
      await holder`select from executions where id = ${ids[5] ?? ''} for update`;
      returned = returning();
      await Promise.all(returned.filter((_, index) => index !== 5));
      expect(await stateOf(people[5] as Person, ids[5] ?? '')).toBe('active');
    });
    await Promise.all(returned);
    await server.rest();
    expect(cast.house.provider.held()).toEqual([]);
  });

  it('are given back by an id in capital letters as well', async () => {
    await using server = openServer(cast);
    const all = people.map(server.as);
    const ids = await Promise.all(all.map((person) => request(person, wanted)));
    await server.rest();
    await Promise.all(
      all.map((person, index) => returnAccess(person, { execution_id: (ids[index] ?? '').toUpperCase() })),
    );
    await server.rest();
    expect(cast.house.provider.held()).toEqual([]);
  });

  it('are stored although the login of one person has just ended and another has too many open requests', async () => {
    await using server = openServer(cast);
    const [first, second, ...others] = people.map(server.as) as [Person, Person, ...Person[]];
    await cast.house.database.sql`update logins set expires_at = '2020-01-01' where user_id = ${first.actor.id}`;
    const limit = cast.house.catalog.current().limits.openRequests;
    for (let made = 0; made < limit; made += 1) await request(second, { workflow: 'approved' });
    const all = [first, second, second, ...others];
    const came = await together(all.map((person) => request(person, wanted)));
    expect(came).toEqual(['unauthenticated', 'too_many_requests', 'too_many_requests', ...others.map(() => 'ok')]);
    await server.rest();
    expect(cast.house.provider.held()).toHaveLength(others.length);
  });
});
