import { type Actor, applyCatalog, can, compileCatalog, findDisabledWorkflows } from '@belay/core';
import { type Connector, createRegistry } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { createTestDatabase } from '@belay/testkit/database';
import { approvalCatalog, workflowOf } from '@belay/testkit/house';
import { describe, expect, it } from 'vitest';

const connectors = createRegistry([createMemoryConnector() as Connector]);
const secrets: Record<string, string> = { 'env:THERE': 'value' };
const options = { connectors, resolve: (reference: string) => secrets[reference] };

type Document = {
  providers: Record<string, object>;
  roles: Record<string, object>;
  workflows: Record<string, object>;
  server?: object;
};
const base = () => approvalCatalog() as Document;
/** Returns the usual catalog with one change. */
const changed = (edit: (document: Document) => void) => {
  const document = base();
  edit(document);
  return document;
};
const role = (more: object) => changed((document) => void Object.assign(document.roles.reader as object, more));
const issuesOf = async (document: unknown) => {
  const result = await compileCatalog(document, options);
  return result.ok ? [] : result.issues.map(({ path, message }) => `${path}: ${message}`);
};
const approveWith = (stages: unknown) =>
  changed((document) => {
    document.workflows.approved = {
      workflow: workflowOf('approved', [{ approve: { call: 'access.approve', with: { stages } } }]),
    };
  });

describe('a configuration is rejected whole, and every fault is named with its path', () => {
  it('is taken when it is right', async () => {
    expect(await issuesOf(base())).toEqual([]);
  });

  it.each<[string, unknown, RegExp]>([
    ['an unknown key at the top', { ...base(), rolls: {} }, /^rolls: is not a known key/],
    ['an unknown key of a role', role({ permisions: {} }), /^roles\.reader\.permisions: is not a known key/],
    [
      'decisions by message without the domains whose members decide',
      changed((document) => {
        const { memory } = document.providers as Record<string, { config?: object }>;
        if (memory) memory.config = { hook_secret: 'what it signs with' };
      }),
      /^providers\.memory\.trusted_email_domains: must name the domains whose members decide by message/,
    ],
    ['a role without providers', role({ providers: [] }), /^roles\.reader\.providers: /],
    [
      'a role at a provider that is not there',
      role({ providers: ['memory', 'nowhere'] }),
      /^roles\.reader\.providers\[1\]: there is no provider "nowhere"/,
    ],
    [
      'a reason.pattern that is no regular expression',
      role({ reason: { pattern: '(' } }),
      /^roles\.reader\.reason\.pattern: is not a regular expression/,
    ],
    [
      'a reason.pattern with lookahead',
      role({ reason: { pattern: '^(?=OPS-)' } }),
      /^roles\.reader\.reason\.pattern: uses \(\?=: lookahead, lookbehind and backreferences cannot/,
    ],
    [
      'a reason.pattern with a backreference',
      role({ reason: { pattern: '^(a+)\\1$' } }),
      /^roles\.reader\.reason\.pattern: uses \\1: .*RE2/,
    ],
    [
      'a role through a workflow that is not there',
      role({ workflows: ['approved', 'nothing'] }),
      /^roles\.reader\.workflows\[1\]: there is no workflow "nothing"/,
    ],
    [
      'a role that inherits from a role that does not exist',
      role({ inherits: ['memory:read', 'ghost'] }),
      /^roles\.reader\.inherits\[1\]: there is no role "ghost"/,
    ],
    [
      'a role of a provider that is not there',
      role({ inherits: ['nowhere:read'] }),
      /^roles\.reader\.inherits\[0\]: there is no provider "nowhere"/,
    ],
    ['a role that gives nothing', role({ inherits: [] }), /^roles\.reader\.inherits: asks for nothing/],
    [
      'a role with resources where there are none',
      role({ resources: { allow: ['a'] } }),
      /^roles\.reader\.resources\.allow\[0\]: /,
    ],
    [
      'is not a valid ISO 8601 duration',
      role({ max_duration: 'soon' }),
      /^roles\.reader\.max_duration: "soon" is not a duration/,
    ],
    ['a duration of nothing', role({ max_duration: 'PT0S' }), /^roles\.reader\.max_duration: must be longer/],
    [
      'a default longer than the longest',
      role({ default_duration: 'PT9H' }),
      /^roles\.reader\.default_duration: is longer/,
    ],
    ['a pattern that is not valid', role({ reason: { pattern: '(' } }), /^roles\.reader\.reason\.pattern: /],
    [
      'a name that could be a path',
      changed((document) => void (document.roles['../x'] = document.roles.reader as object)),
      /^roles\.\.\.\/x: /,
    ],
    [
      'an unknown type of provider',
      changed((document) => void (document.providers.other = { provider: 'magic' })),
      /^providers\.other\.provider: "magic" .* available: memory/,
    ],
    [
      'a setting that a provider does not know',
      changed((document) => void (document.providers.memory = { provider: 'memory', config: { a: 1 } })),
      /^providers\.memory\.config\.a: is not a known key/,
    ],
    [
      'a secret that is not there',
      changed((document) => void (document.providers.memory = { provider: 'memory', config: { a: '${env:MISSING}' } })),
      /^providers\.memory\.config\.a: \$\{env:MISSING\} has no value/,
    ],
    [
      'a capability that it lacks',
      changed(
        (document) =>
          void (document.providers.memory = {
            provider: 'memory',
            capabilities: ['authenticator', 'authorizer', 'identities'],
          }),
      ),
      /^providers\.memory\.capabilities: /,
    ],
    [
      'a role at a provider that grants nothing',
      changed((document) => void (document.providers.memory = { provider: 'memory', capabilities: ['identities'] })),
      /^roles\.reader\.providers\[0\]: .*no authorizer/,
    ],
    ['a callback that is no URL', { ...base(), server: { callbacks: ['back'] } }, /^server\.callbacks\[0\]: /],
    [
      'a workflow whose expression is not jq',
      changed(
        (document) =>
          void (document.workflows.approved = {
            workflow: workflowOf('approved', [{ decide: { switch: [{ no: { when: '.approved ==', then: 'end' } }] } }]),
          }),
      ),
      /^workflows\.approved\.workflow\/do\/0\/decide\/switch\/0\/no\/when: the expression "\.approved ==" is not valid jq/,
    ],
    [
      'a workflow whose long schema refers to what is not there',
      changed((document) => {
        const schema = { anyOf: [{ $ref: '#/$defs/nothing' }], enum: Array.from({ length: 5_000 }, (_, n) => n) };
        document.workflows.approved = {
          workflow: workflowOf('approved', [], { input: { schema: { document: schema } } }),
        };
      }),
      /^workflows\.approved\.workflow\/input\/schema\/document: .*resolve reference/,
    ],
    [
      'a workflow that is not an object',
      changed((document) => void (document.workflows.approved = { workflow: { do: [] } })),
      /^workflows\.approved\.workflow/,
    ],
    [
      'a call of a function that is not there',
      changed(
        (document) =>
          void (document.workflows.approved = {
            workflow: workflowOf('approved', [{ x: { call: 'access.everything' } }]),
          }),
      ),
      /^workflows\.approved\.workflow\/do\/0\/x/,
    ],
    [
      'an approval without approvers',
      approveWith([{ approvers: {} }]),
      /^workflows\.approved\.workflow\/do\/0\/approve\/with\/stages\/0\/approvers: must name at least one/,
    ],
    ['an approval by none', approveWith([{ approvers: { groups: ['a'] }, count: 0 }]), /stages\/0\/count/],
    [
      'nine stages of approval',
      approveWith(Array(9).fill({ approvers: { groups: ['a'] } })),
      /stages: must have at most 8 stages/,
    ],
    [
      'a second stage without approvers',
      approveWith([{ approvers: { groups: ['a'] } }, { approvers: {} }]),
      /stages\/1\/approvers/,
    ],
    ['no stage of approval', approveWith([]), /stages: must have at least one/],
  ])('%s', async (_name, document, expected) => {
    expect(await issuesOf(document)).toContainEqual(expect.stringMatching(expected));
  });

  it('names every fault at once', async () => {
    const document = role({ providers: ['nowhere'], workflows: ['nothing'], max_duration: 'soon' });
    expect((await issuesOf(document)).length).toBeGreaterThanOrEqual(3);
  });

  it('takes a workflow that is disabled and used, and warns of it', async () => {
    const document = changed((one) => {
      Object.assign(one.workflows.approved as object, { enabled: false });
      one.providers.memory = {
        provider: 'memory',
        dynamic: { groups: { allow: ['read'] }, workflows: ['approved'], requesters: { groups: ['engineers'] } },
      };
    });
    const result = await compileCatalog(document, options);
    if (!result.ok) throw new Error(JSON.stringify(result.issues));
    expect(findDisabledWorkflows(result.catalog).map(({ path }) => path)).toEqual([
      'roles.reader.workflows[0]',
      'providers.memory.dynamic.workflows[0]',
    ]);
    const sound = await compileCatalog(base(), options);
    expect(sound.ok && findDisabledWorkflows(sound.catalog)).toEqual([]);
  });

  it('needs no secrets of what is switched off', async () => {
    const document = changed((one) => {
      one.providers.off = { provider: 'memory', enabled: false, config: { a: '${env:MISSING}' } };
    });
    expect(await issuesOf(document)).toEqual([]);
  });
});

describe('inheritance', () => {
  const accessesOf = async (roles: Record<string, object>, name: string, providers: Record<string, object> = {}) => {
    const document = base();
    const result = await compileCatalog(
      {
        ...document,
        providers: { ...document.providers, ...providers },
        roles: Object.fromEntries(
          Object.entries(roles).map(([one, more]) => [
            one,
            { providers: ['memory'], workflows: ['approved'], ...more },
          ]),
        ),
      },
      options,
    );
    return result.ok
      ? Object.fromEntries(result.catalog.roles.get(name)?.accesses ?? [])
      : result.issues.map(({ path, message }) => `${path}: ${message}`);
  };

  it('goes through any number of parents, each once', async () => {
    const roles = {
      top: { inherits: ['left', 'right'] },
      left: { inherits: ['base'] },
      right: { inherits: ['base', 'memory:b'] },
      base: { inherits: ['memory:a'] },
    };
    expect(await accessesOf(roles, 'top')).toEqual({ memory: [{ role: 'a' }, { role: 'b' }] });
  });

  it('never runs in a circle', async () => {
    const roles = { one: { inherits: ['two', 'memory:a'] }, two: { inherits: ['one'] } };
    expect(await accessesOf(roles, 'one')).toContainEqual('roles.one.inherits: inherits in a circle: one → two → one');
    expect(await accessesOf({ self: { inherits: ['self'] } }, 'self')).toContainEqual(
      expect.stringContaining('self → self'),
    );
  });

  it('takes a denial of a parent with it, also beside an allowance', async () => {
    const roles = {
      child: { inherits: ['parent'], permissions: { allow: ['x', 'y'] } },
      parent: { inherits: ['memory:a'], permissions: { deny: ['x'] } },
    };
    expect(await accessesOf(roles, 'child')).toEqual({ memory: [{ permission: 'y' }, { role: 'a' }] });
  });

  it("gives a provider's own role at that provider only", async () => {
    const second = { second: { provider: 'memory' } };
    const roles = {
      both: { providers: ['memory', 'second'], inherits: ['memory:a', 'second:b'] },
      one: { inherits: ['both'] },
      wrong: { inherits: ['second:b', 'memory:a'] },
    };
    const { wrong: _wrong, ...right } = roles;
    expect(await accessesOf(right, 'both', second)).toEqual({ memory: [{ role: 'a' }], second: [{ role: 'b' }] });
    expect(await accessesOf(right, 'one', second)).toEqual({ memory: [{ role: 'a' }] });
    expect(await accessesOf(roles, 'wrong', second)).toContainEqual(
      'roles.wrong.inherits[0]: the role is not for the provider "second"',
    );
  });
});

describe('versions', () => {
  it('rise by one with each change, also when several apply it at once, and a rejection changes nothing', async () => {
    await using database = await createTestDatabase();
    const apply = (document: unknown) => applyCatalog(database.db, { document, source: 'test' }, options);
    const first = await Promise.all(Array.from({ length: 10 }, () => apply(base())));
    expect(first.filter(({ applied }) => applied)).toHaveLength(1);
    expect(new Set(first.map(({ version }) => version))).toEqual(new Set([1]));
    await expect(apply(role({ providers: ['nowhere'] }))).rejects.toMatchObject({
      code: 'invalid',
      issues: expect.any(Array),
    });
    expect(await apply(role({ description: 'another' }))).toEqual({ version: 2, applied: true, warnings: [] });
    expect(await apply(base())).toEqual({ version: 3, applied: true, warnings: [] });
  });

  it('keep references to secrets as references', async () => {
    await using database = await createTestDatabase();
    const document = changed((one) => {
      one.providers.off = { provider: 'memory', enabled: false, config: { a: '${env:THERE}' } };
    });
    await applyCatalog(database.db, { document, source: 'test' }, options);
    const rows = JSON.stringify(await database.sql`select * from catalogs`);
    expect(rows).toContain('${env:THERE}');
    expect(rows).not.toContain('"value"');
  });
});

describe('can', async () => {
  const result = await compileCatalog(
    changed((document) => {
      document.roles.open = { providers: ['memory'], workflows: ['automatic'], inherits: ['memory:a'] };
      document.roles.named = { ...document.roles.open, permissions: { users: ['Ada@Example.com'] } };
      document.roles.nobody = { ...document.roles.open, permissions: { users: [], groups: [] } };
      document.roles.off = { ...document.roles.open, enabled: false };
    }),
    options,
  );
  if (!result.ok) throw new Error(JSON.stringify(result.issues));
  const { roles, workflows } = result.catalog;
  const somebody = (email: string, groups: string[]): Actor => ({
    kind: 'user',
    id: '1',
    email,
    name: email,
    groups,
    provider: 'p',
    subject: 's',
    loginId: 'l',
  });
  const seen = (actor: Actor) =>
    [...roles.values()].filter((one) => can(actor, 'request', { role: one })).map(({ name }) => name);

  it('shows a role to its audience, and one without an audience to everyone who is signed in', async () => {
    expect(seen(somebody('ada@example.com', ['engineers']))).toEqual(['named', 'open', 'reader']);
    expect(seen(somebody('x@example.com', ['Engineers', 'engineers ']))).toEqual(['open']);
    expect(seen(somebody('ada@example.com.evil', []))).toEqual(['open']);
  });

  it('lets operators look and not ask, and the system neither', async () => {
    expect(seen({ kind: 'operator', name: 'o' })).toEqual([]);
    expect(seen({ kind: 'system', name: 's' })).toEqual([]);
    const reader = roles.get('reader');
    if (!reader) throw new Error('no role');
    expect(can({ kind: 'operator', name: 'o' }, 'view', { role: reader })).toBe(true);
    expect(can({ kind: 'system', name: 's' }, 'view', { role: reader })).toBe(false);
  });

  it('shows a workflow to the people who may request a role that uses it', async () => {
    const mayView = (actor: Actor, name: string) => {
      const workflow = workflows.get(name);
      return workflow !== undefined && can(actor, 'view', { workflow, roles: roles.values() });
    };
    expect(mayView(somebody('x@example.com', []), 'approved')).toBe(false);
    expect(mayView(somebody('x@example.com', []), 'automatic')).toBe(true);
    expect(mayView(somebody('x@example.com', ['engineers']), 'approved')).toBe(true);
  });
});
