import { AccessError } from '@belay/contract/errors';
import {
  compileCatalog,
  type DynamicRequest,
  getExecution,
  listAccess,
  listDynamicBounds,
  listInbox,
  requestDynamicElevation,
  requestElevation,
} from '@belay/core';
import { type Connector, createRegistry, postgresConnector } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { approvalCatalog } from '@belay/testkit/house';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { approve, type Cast, minute, openCast, type Person } from './support/stories.js';

const bounds = {
  permissions: { allow: ['reports.*', 'deploy'], deny: ['reports.delete*', 'Reports.Secret'] },
  groups: { allow: ['read', 'on-call-*'], deny: ['on-call-root'] },
  workflows: ['approved'],
  requesters: { groups: ['engineers'] },
  delegates: { users: ['alan@example.com'] },
  max_duration: 'PT2H',
  default_duration: 'PT20M',
};

/**
 * Returns the usual catalog with bounds at its provider, and two more providers: one with other bounds, one without.
 */
function catalogOf(dynamic: object = bounds): object {
  const catalog = approvalCatalog() as { providers: { memory: object } };
  return {
    ...catalog,
    providers: {
      memory: { ...catalog.providers.memory, dynamic },
      other: {
        provider: 'memory',
        dynamic: { ...bounds, permissions: { allow: ['deploy', 'other.only'] }, delegates: undefined },
      },
      roles_only: { provider: 'memory' },
      hidden: { provider: 'memory', permissions: { groups: ['nobody'] }, dynamic: bounds },
    },
  };
}

const issuesOf = async (attempt: Promise<unknown>) => {
  const error = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AccessError)) throw new Error(`expected a rejection, got ${String(error)}`);
  return [error.code, ...(error.issues ?? []).map(({ path }) => path)];
};

describe('a dynamic request', () => {
  let cast: Cast;
  beforeAll(async () => {
    cast = await openCast({ catalog: catalogOf() });
  });
  afterAll(() => cast[Symbol.asyncDispose]());
  beforeEach(async () => {
    await cast.house.pass(24 * 60 * minute);
    expect(cast.house.provider.held()).toEqual([]);
  });

  const request = (person: Person, asked: DynamicRequest) =>
    requestDynamicElevation(person, { providers: ['memory'], reason: 'a ticket', ...asked });

  it('is put to approvers as exactly what it would grant, is granted after it, and revoked', async () => {
    const { house, ada, grace } = cast;
    const { output } = await request(ada, {
      permissions: ['reports.read', ' deploy'],
      groups: ['memory:read'],
      duration: 'PT30M',
    });
    await house.work();
    expect(house.provider.held()).toEqual([]);
    const [item] = (await listInbox(grace)).approvals;
    const accesses: Record<string, string>[] = [
      { permission: 'deploy' },
      { permission: 'reports.read' },
      { role: 'read' },
    ];
    expect(item).toMatchObject({ role: 'dynamic access', duration: 'PT30M' });
    expect(item?.grants.map(({ identity, access }) => [identity, access])).toEqual(
      accesses.map((access) => ['ada@example.com', access]),
    );
    await approve(grace, output.execution_id);
    await house.work();
    for (const access of accesses) expect(house.provider.holds('ada@example.com', access)).toBe(true);
    expect((await listAccess(ada)).access.length).toBeGreaterThan(0);
    const shown = await getExecution(ada, { id: output.execution_id });
    expect(shown.input).toMatchObject({
      role: 'dynamic access',
      dynamic: { permissions: ['reports.read', 'deploy'], resources: [], groups: ['memory:read'] },
    });
    expect(shown.history[0]?.message).toContain(
      'requests dynamic access (memory:read, reports.read, deploy) at memory',
    );
    await house.pass(30 * minute);
    expect(house.provider.held()).toEqual([]);
    expect((await getExecution(ada, { id: output.execution_id })).status).toBe('completed');
  });

  it('lasts as long as the bounds say when it says nothing, and never longer', async () => {
    const { output } = await request(cast.ada, { permissions: ['deploy'] });
    expect((await getExecution(cast.ada, { id: output.execution_id })).duration).toBe('PT20M');
    expect(await issuesOf(request(cast.ada, { permissions: ['deploy'], duration: 'PT3H' }))).toEqual([
      'invalid',
      'duration',
    ]);
  });

  it.each([
    ['a denied name', 'reports.delete'],
    ['a denied name that a pattern covers', 'reports.delete-all'],
    ['another case', 'reports.DELETE'],
    ['the case of the configuration against it', 'reports.secret'],
    ['spacing', 'reports. delete'],
    ['spacing around', 'reports.\tdelete'],
    ['a zero-width space', 'reports.\u200bdelete'],
    ['a soft hyphen', 'reports.\u00addelete'],
    ['full-width letters', 'reports.ｄelete'],
    ['an accent', 'reports.délete'],
    ['a Cyrillic letter', 'reports.d\u0435lete'],
    ['a wildcard', 'reports.*'],
    ['a wildcard over everything', '*'],
    ['a single wildcard', 'reports.rea?'],
    ['a full-width wildcard', 'reports.＊'],
    ['what is not listed', 'admin'],
    ['another case of what is listed', 'Deploy'],
    ['another provider’s permission', 'other.only'],
    ['a line break', 'deploy\nadmin'],
  ])('is rejected for %s, naming the field', async (_what, permission) => {
    expect(await issuesOf(request(cast.ada, { permissions: ['deploy', permission] }))).toEqual([
      'invalid',
      'permissions[1]',
    ]);
    // A group does not get around the rule either.
    expect(await issuesOf(request(cast.ada, { groups: ['read', permission] }))).toEqual(['invalid', 'groups[1]']);
  });

  it('is rejected for denied groups, for resources without bounds, and for nothing at all', async () => {
    expect(await issuesOf(request(cast.ada, { groups: ['on-call-db', 'memory:On-Call-ROOT'] }))).toEqual([
      'invalid',
      'groups[1]',
    ]);
    expect(await issuesOf(request(cast.ada, { permissions: ['deploy'], resources: ['bucket'] }))).toEqual([
      'invalid',
      'resources[0]',
    ]);
    expect(await issuesOf(request(cast.ada, {}))).toEqual(['invalid', 'permissions']);
    expect(await issuesOf(request(cast.ada, { permissions: ['deploy'], providers: [] }))).toEqual([
      'invalid',
      'providers',
    ]);
    expect(await issuesOf(request(cast.ada, { permissions: ['deploy'], reason: ' ' }))).toEqual(['invalid', 'reason']);
  });

  it('at several providers has only what each of them allows, and says whose a group is', async () => {
    const both = { providers: ['memory', 'other'] };
    expect(await issuesOf(request(cast.ada, { ...both, permissions: ['deploy', 'other.only'] }))).toEqual([
      'invalid',
      'permissions[1]',
    ]);
    expect(await issuesOf(request(cast.ada, { ...both, groups: ['read'] }))).toEqual(['invalid', 'groups[0]']);
    expect(await issuesOf(request(cast.ada, { permissions: ['deploy'], groups: ['other:read'] }))).toEqual([
      'invalid',
      'groups[0]',
    ]);
    const { status } = await request(cast.ada, { ...both, permissions: ['deploy'], groups: ['other:read'] });
    expect(status).toBe('pending');
  });

  it('is for those who are named, where there are bounds; the two rejections look alike', async () => {
    const { ada, grace, mallory } = cast;
    const deploy = { permissions: ['deploy'] };
    for (const [person, provider] of [
      [mallory, 'memory'],
      [grace, 'memory'],
      [ada, 'roles_only'],
    ] as const) {
      expect(await issuesOf(request(person, { ...deploy, providers: [provider] }))).toEqual([
        'forbidden',
        'providers[0]',
      ]);
    }
    for (const provider of ['hidden', 'no-such', '__proto__']) {
      expect(await issuesOf(request(ada, { ...deploy, providers: [provider] }))).toEqual(['invalid', 'providers[0]']);
    }
    expect(listDynamicBounds(mallory).bounds).toEqual([]);
    expect(listDynamicBounds(ada).bounds).toMatchObject([
      { provider: 'memory', for_others: false, max_duration: 'PT2H', groups: bounds.groups },
      { provider: 'other', for_others: false },
    ]);
  });

  it('is for others only where the bounds name the requester as a delegate, in `identities` as in `users`', async () => {
    const { house, ada, alan, grace } = cast;
    for (const field of ['identities', 'users']) {
      const asked = request(ada, { permissions: ['deploy'], [field]: ['grace@example.com'] });
      expect(await issuesOf(asked)).toEqual(['forbidden', field]);
    }
    expect(await issuesOf(request(alan, { permissions: ['deploy'], users: ['nobody@example.com'] }))).toEqual([
      'invalid',
      'users',
    ]);
    const { output } = await request(alan, {
      permissions: ['deploy'],
      identities: ['ada@example.com'],
      users: ['grace@example.com', 'ada@example.com'],
    });
    await house.work();
    // The person who would be elevated never decides, and neither does the requester.
    await expect(approve(grace, output.execution_id)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(approve(alan, output.execution_id)).rejects.toMatchObject({ code: 'forbidden' });
    expect(house.provider.held()).toEqual([]);
  });

  it('has no way round its approvers: a workflow that the bounds do not list is rejected, and so is its name as a role', async () => {
    const { ada } = cast;
    expect(await issuesOf(request(ada, { permissions: ['deploy'], workflow: 'automatic' }))).toEqual([
      'invalid',
      'workflow',
    ]);
    const named = requestElevation(ada, { role: 'dynamic access', reason: 'a ticket', workflow: 'automatic' });
    expect(await issuesOf(named)).toEqual(['not_found']);
  });

  it('is the same request for the same idempotency key, and a conflict when one permission differs', async () => {
    const asked = { permissions: ['deploy'], idempotencyKey: 'once' };
    const first = await request(cast.ada, asked);
    expect(await request(cast.ada, asked)).toEqual(first);
    const other = request(cast.ada, { ...asked, permissions: ['reports.read'] });
    expect(await issuesOf(other)).toEqual(['conflict']);
  });
});

it('bounds that were narrowed while a request waited count: what was approved is not granted any more', async () => {
  await using cast = await openCast({ catalog: catalogOf() });
  const { house, ada, grace } = cast;
  const asked = { providers: ['memory'], permissions: ['deploy'], reason: 'a ticket' };
  const { output } = await requestDynamicElevation(ada, asked);
  await house.work();
  await house.applyCatalog(catalogOf({ ...bounds, permissions: { allow: ['reports.*'], deny: [] } }));
  await approve(grace, output.execution_id);
  await house.work();
  expect(house.provider.held()).toEqual([]);
  expect(await getExecution(ada, { id: output.execution_id })).toMatchObject({ status: 'faulted' });
});

it('a workflow that the bounds or the role list no longer grants nothing any more, whichever step it waits for', async () => {
  await using cast = await openCast({ catalog: catalogOf({ ...bounds, workflows: ['automatic', 'approved'] }) });
  const { house, ada } = cast;
  house.provider.down = true;
  const asked = { providers: ['memory'], permissions: ['deploy'], reason: 'a ticket' };
  const dynamic = await requestDynamicElevation(ada, asked);
  const byRole = await requestElevation(ada, { role: 'reader', reason: 'a ticket', workflow: 'automatic' });
  await house.work();
  const narrowed = catalogOf() as { roles: { reader: object } };
  await house.applyCatalog({ ...narrowed, roles: { reader: { ...narrowed.roles.reader, workflows: ['approved'] } } });
  house.provider.down = false;
  await house.pass(minute);
  expect(house.provider.held()).toEqual([]);
  for (const { output } of [dynamic, byRole]) {
    expect(await getExecution(ada, { id: output.execution_id })).toMatchObject({ status: 'faulted' });
  }
});

describe('bounds in the configuration', () => {
  const options = {
    connectors: createRegistry([createMemoryConnector() as Connector, postgresConnector as Connector]),
    resolve: () => undefined,
  };
  const issues = async (dynamic: object, provider: object = { provider: 'memory' }) => {
    const document = {
      ...(catalogOf() as object),
      providers: { memory: { provider: 'memory' }, p: { ...provider, dynamic } },
    };
    const result = await compileCatalog(document, options);
    return result.ok ? [] : result.issues.map(({ path }) => path);
  };

  it('are rejected where they are unsound, naming the key', async () => {
    expect(await issues(bounds)).toEqual([]);
    expect(await issues({ ...bounds, requesters: {} })).toEqual(['providers.p.dynamic.requesters']);
    expect(await issues({ ...bounds, requesters: undefined })).toEqual(['providers.p.dynamic.requesters']);
    expect(await issues({ ...bounds, workflows: [] })).toEqual(['providers.p.dynamic.workflows']);
    expect(await issues({ ...bounds, workflows: ['gone'] })).toEqual(['providers.p.dynamic.workflows[0]']);
    expect(await issues({ ...bounds, permissions: {}, groups: {} })).toEqual(['providers.p.dynamic']);
    expect(await issues({ ...bounds, default_duration: 'PT9H' })).toEqual(['providers.p.dynamic.default_duration']);
    expect(await issues({ ...bounds, anything: 'else' })).toEqual(['providers.p.dynamic.anything']);
  });

  it('that the connector cannot grant are rejected', async () => {
    const postgres = { provider: 'postgres', config: { url: 'postgres://belay@127.0.0.1/target', identity: 'email' } };
    const groups = { ...bounds, permissions: {}, groups: { allow: ['reporting_*'], deny: ['reporting_owner'] } };
    expect(await issues(groups, postgres)).toEqual([]);
    expect(await issues({ ...groups, permissions: { allow: ['SELECT'] } }, postgres)).toEqual([
      'providers.p.dynamic.permissions.allow[0]',
    ]);
    expect(await issues({ ...bounds, resources: { allow: ['bucket'] } })).toEqual([
      'providers.p.dynamic.resources.allow[0]',
    ]);
  });
});

it('is rejected when it comes to more than anyone could look at, and more than a statement takes', async () => {
  const people = ['ada', 'grace', 'alan', 'mallory', ...Array.from({ length: 100 }, (_, index) => `p${index}`)];
  await using cast = await openCast({ catalog: catalogOf(), people });
  const asked = {
    providers: ['memory'],
    reason: 'a ticket',
    permissions: Array.from({ length: 100 }, (_, index) => `reports.${index}`),
    identities: people.slice(4).map((name) => `${name}@example.com`),
  };
  expect(await issuesOf(requestDynamicElevation(cast.alan, asked))).toEqual(['invalid', 'identities']);
  // Five people with a hundred permissions each are the most that is permitted.
  const several = process.env.CI ? 5 : 2;
  const { identities, ...own } = asked;
  expect((await requestDynamicElevation(cast.alan, own)).status).toBe('pending');
  const { output } = await requestDynamicElevation(cast.alan, { ...asked, identities: identities.slice(0, several) });
  await cast.house.work();
  await approve(cast.grace, output.execution_id);
  await cast.house.work();
  expect(cast.house.provider.held()).toHaveLength(100 * several);
});
