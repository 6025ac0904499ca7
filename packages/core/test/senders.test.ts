import { createHmac, randomBytes } from 'node:crypto';
import {
  compileCatalog,
  createSignal,
  createTaskToken,
  getExecution,
  receiveEvent,
  resumeExecution,
  signalExecution,
} from '@belay/core';
import { createRegistry } from '@belay/providers';
import { createMemoryConnector, createMemoryProvider } from '@belay/providers/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  approve,
  ask,
  type Cast,
  catalogWith,
  minute,
  openCast,
  type Person,
  statusOf,
  together,
} from './support/stories.js';

const token = 'a token for tests that is long enough';
const key = randomBytes(32);
const secrets: Record<string, string> = { 'env:CI': token, 'env:HOOK': `whsec_${key.toString('base64')}` };
const events = {
  sources: {
    ci: { token: '${env:CI}' },
    hook: { standard_webhooks: { secret: '${env:HOOK}' } },
    other: { token: '${env:CI}' },
  },
};
const approval = { call: 'access.approve', with: { stages: [{ approvers: { groups: ['approvers'] } }] } };
const hear = (from: object | undefined, type = 'ready') => ({
  listen: { to: { one: { with: { type } } } },
  ...(from === undefined ? {} : { metadata: { from } }),
});
/** Returns tasks that wait for an event of the senders in `from`, and then grant. */
const granting = (from: object | undefined) => [
  { ask: approval },
  { hear: hear(from) },
  { grant: { call: 'access.grant' } },
];

const send = async (person: Person, id: string, type = 'ready') => {
  const { input } = await createSignal(person, { id, type });
  return signalExecution(person, { id, input });
};

describe('whose word counts for a listen', () => {
  let cast: Cast;
  let rita: Person;
  beforeEach(async () => {
    const workflows = {
      'by-approvers': granting({ approvers: true }),
      'by-requester': granting({ requester: true }),
      'by-group': granting({ groups: ['release', 'engineers'] }),
      'by-source': granting({ sources: ['ci', 'hook'] }),
      unasked: [{ hear: hear({ groups: ['release'] }) }, { grant: { call: 'access.grant' } }],
      mixed: [{ ask: approval }, { one: hear({ requester: true }) }, { two: hear({ approvers: true }) }],
    };
    const permissions = { groups: ['engineers'], delegates: { users: ['ada@example.com'] } };
    const catalog = catalogWith(workflows, { permissions });
    cast = await openCast({ catalog: { ...catalog, events }, resolve: (reference) => secrets[reference] });
    rita = await cast.house.person('rita', ['release']);
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  /** Makes a request that is approved and now listens. */
  const listening = async (workflow: string) => {
    const id = await ask(cast.house, cast.ada, { workflow });
    await approve(cast.grace, id);
    await cast.house.work();
    return id;
  };
  const granted = async (id: string) => {
    await cast.house.work();
    return (await getExecution(cast.ada, { id })).grants.length === 1;
  };

  it('never lets the requester say what their own request waits for, unless it says so', async () => {
    const { ada } = cast;
    for (const workflow of ['by-approvers', 'by-group', 'by-source']) {
      const id = await listening(workflow);
      await expect(send(ada, id)).rejects.toMatchObject({ code: 'forbidden' });
      const state = await createTaskToken(ada, { executionId: id, type: 'ready' });
      await expect(resumeExecution(ada, { state })).rejects.toMatchObject({ code: 'forbidden' });
      expect(await granted(id)).toBe(false);
    }
    const own = await listening('by-requester');
    await expect(send(cast.grace, own)).rejects.toMatchObject({ code: 'forbidden' });
    await send(ada, own);
    expect(await granted(own)).toBe(true);
  });

  it('lets an approver say it, also one who was asked before, and no one else', async () => {
    const { alan, mallory } = cast;
    const id = await listening('by-approvers');
    await expect(send(mallory, id)).rejects.toMatchObject({ code: 'not_found' });
    await expect(send(rita, id)).rejects.toMatchObject({ code: 'not_found' });
    await send(alan, id);
    expect(await granted(id)).toBe(true);
  });

  it('takes no approver’s word who is the requester under another identity', async () => {
    const { house, ada, grace } = cast;
    const id = await listening('by-approvers');
    await house.database
      .sql`update user_identities set email_folded = ${ada.actor.email} where user_id = ${grace.actor.id}`;
    await expect(send(grace, id)).rejects.toMatchObject({ code: 'forbidden' });
    expect(await granted(id)).toBe(false);
  });

  it('lets a member of a group say it without showing them the request', async () => {
    const id = await listening('by-group');
    await expect(getExecution(rita, { id })).rejects.toMatchObject({ code: 'not_found' });
    await send(rita, id);
    expect(await granted(id)).toBe(true);
  });

  it.each([
    ['by their address', 'rita@example.com', 'by-group'],
    ['by their id at the system', 'U-7', 'by-group'],
    ['by their address, before any approver is asked', 'rita@example.com', 'unasked'],
    ['by their id at the system, before any approver is asked', 'U-7', 'unasked'],
  ])('takes no word of a member of a group for their own access, requested %s', async (_, identity, workflow) => {
    const { house, ada, grace } = cast;
    house.provider.options.people?.push({ id: 'U-7', name: 'rita', email: 'rita@example.com' });
    const id = await ask(house, ada, { workflow, identities: [identity] });
    if (workflow === 'by-group') await approve(grace, id);
    await house.work();
    await expect(send(rita, id)).rejects.toMatchObject({ code: 'not_found' });
    expect(await granted(id)).toBe(false);
    const other = await house.person('rosa', ['release']);
    await send(other, id);
    expect(await granted(id)).toBe(true);
  });

  it.each(['by-approvers', 'by-group', 'unasked'])(
    'takes no word of a person for access that only the system knows as theirs: %s',
    async (workflow) => {
      const { house, ada, grace, alan } = cast;
      const own = { id: 'U-7', name: 'opaque', email: '' };
      house.provider.options.people?.push(own);
      const id = await ask(house, ada, { workflow, identities: ['U-7'] });
      if (workflow !== 'unasked') await approve(grace, id);
      await house.work();
      const people = house.provider.options.people ?? [];
      const speaker = workflow === 'by-approvers' ? alan : rita;
      const { email } = speaker.actor;
      for (const one of people) if (one.email === email) one.email = '';
      own.email = email;
      await expect(send(speaker, id)).rejects.toMatchObject({
        code: workflow === 'by-approvers' ? 'forbidden' : 'not_found',
      });
      expect(await granted(id)).toBe(false);
      // The account is again as the approvers saw it; otherwise they would have to approve again.
      own.email = '';
      await send(workflow === 'by-approvers' ? grace : await house.person('rosa', ['release']), id);
      expect(await granted(id)).toBe(true);
    },
  );

  it.each(['by-group', 'unasked'])(
    'takes no word of a person for access to an account that is theirs by a sign-in whose subject has capitals: %s',
    async (workflow) => {
      const { house, ada, grace } = cast;
      const logins = [{ provider: 'login', subject: 'Rosa' }];
      house.provider.options.people?.push({ id: 'U-7', name: 'opaque', email: '', logins });
      const id = await ask(house, ada, { workflow, identities: ['U-7'] });
      if (workflow !== 'unasked') await approve(grace, id);
      await house.work();
      await expect(send(await house.person('Rosa', ['release']), id)).rejects.toMatchObject({ code: 'not_found' });
      expect(await granted(id)).toBe(false);
    },
  );

  it('keeps an event only for a task that takes its sender’s', async () => {
    const { ada, alan } = cast;
    const id = await listening('mixed');
    // An event that the second task accepts and the first one does not.
    await send(alan, id);
    await cast.house.work();
    expect(await statusOf(ada, id)).toBe('waiting');
    await send(ada, id);
    await cast.house.work();
    expect(await statusOf(ada, id)).toBe('completed');
    const other = await listening('mixed');
    await send(ada, other);
    await send(ada, other);
    await cast.house.work();
    expect(await statusOf(ada, other)).toBe('waiting');
  });

  const event = (id: string, more: object = {}) =>
    JSON.stringify({ specversion: '1.0', id: 'e1', source: 'https://anything', type: 'ready', subject: id, ...more });
  const hook = async (
    body: string,
    changes: { at?: number; id?: string; secret?: Uint8Array; signed?: string } = {},
  ) => {
    const now = new Date('2026-03-01T10:00:00Z').getTime() / 1000;
    const timestamp = String(now + (changes.at ?? 0));
    const id = changes.id ?? 'msg_1';
    const signature = createHmac('sha256', changes.secret ?? key)
      .update(`${id}.${timestamp}.${changes.signed ?? body}`)
      .digest('base64');
    return receiveEvent(cast.house.ctx, {
      source: 'hook',
      body,
      webhook: { id, timestamp, signature: `v1,AAAA v1,${signature}` },
    });
  };

  it('takes a source’s event with its token, and sets its source itself', async () => {
    const { house, ada } = cast;
    const id = await listening('by-source');
    await expect(receiveEvent(house.ctx, { source: 'ci', token, body: event(id) })).resolves.toEqual({
      status: 'accepted',
    });
    const [row] = await house.database.sql`select source, event ->> 'source' as said, sender from signals`;
    expect(row).toEqual({
      source: 'urn:belay:source:ci',
      said: 'urn:belay:source:ci',
      sender: { kind: 'source', name: 'ci' },
    });
    expect(await granted(id)).toBe(true);
    expect(await statusOf(ada, id)).toBe('completed');
  });

  it('rejects wrong tokens, unknown sources and unknown executions without telling them apart', async () => {
    const { house } = cast;
    const id = await listening('by-source');
    const deaf = await listening('by-approvers');
    const tried = async (source: string, given: string | undefined, body: string) =>
      receiveEvent(house.ctx, { source, token: given, body }).then(
        () => 'accepted',
        (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
      );
    const wrong = await Promise.all([
      tried('ci', undefined, event(id)),
      tried('ci', '', event(id)),
      tried('ci', `${token}x`, event(id)),
      tried('nobody', token, event(id)),
      tried('nobody', undefined, 'not json'),
      tried('hook', token, event(id)),
    ]);
    expect(new Set(wrong)).toEqual(
      new Set(['unauthenticated: The event source is unknown, or its credential is not valid']),
    );
    const missing = await Promise.all([
      tried('ci', token, event('0197a9f2-0000-7000-8000-000000000000')),
      tried('ci', token, event("' or true")),
      tried('ci', token, event(deaf)),
      tried('other', token, event(id)),
    ]);
    expect(new Set(missing)).toEqual(new Set(['not_found: The execution was not found']));
    expect(await tried('ci', token, '[]')).toMatch(/^invalid/);
    expect(await tried('ci', token, event(id, { data: 'x'.repeat(20_000) }))).toMatch(/^invalid/);
    expect(await granted(id)).toBe(false);
  });

  it('takes a signed event once, of now, and only as it was signed', async () => {
    const id = await listening('by-source');
    const body = event(id);
    for (const changes of [{ at: -301 }, { at: 301 }, { secret: randomBytes(32) }, { signed: `${body} ` }]) {
      await expect(hook(body, changes)).rejects.toMatchObject({ code: 'unauthenticated' });
    }
    expect(await granted(id)).toBe(false);
    const tried = await together([hook(body), hook(body), hook(body)]);
    expect(tried.sort()).toEqual(['conflict', 'conflict', 'ok']);
    expect(await granted(id)).toBe(true);
    // The same delivery repeated for another request.
    const other = await listening('by-source');
    await expect(hook(event(other, { id: 'e2' }))).rejects.toMatchObject({ code: 'conflict' });
    await hook(event(other, { id: 'e2' }), { id: 'msg_2', at: 299 });
    expect(await granted(other)).toBe(true);
  });

  it('takes no requester’s word in a request from before its workflow had to say whose counts', async () => {
    const { house, ada, alan } = cast;
    const id = await listening('by-requester');
    const digest = 'from before';
    // As the previous version stored it: with the definition in the row of the execution.
    await house.database.sql`update executions set definition_digest = ${digest},
      definition = (select document #- '{do,1,hear,metadata}' from definitions where digest = definition_digest) where id = ${id}`;
    await expect(send(ada, id)).rejects.toMatchObject({ code: 'forbidden' });
    await house.database.sql`insert into signals (execution_id, source, event_id, type, event)
      values (${id}, 'urn:belay:user:x', 'kept', 'ready', '{}')`;
    await house.pass(minute);
    expect(await granted(id)).toBe(false);
    expect(alan.actor.groups).toContain('approvers');
  });
});

describe('a configuration with a listen', () => {
  const compile = async (tasks: unknown[], more: object = { events }) => {
    const provider = createMemoryProvider({ now: () => new Date(0), people: [] });
    const result = await compileCatalog(
      { ...catalogWith({ flow: tasks }), ...more },
      { connectors: createRegistry([createMemoryConnector(provider)]), resolve: (reference) => secrets[reference] },
    );
    return result.ok ? [] : result.issues.map(({ path, message }) => `${path}: ${message}`);
  };
  const grant = { call: 'access.grant' };

  it('must say whose events count where it grants, however deep either of them is', async () => {
    const required = expect.stringContaining('metadata/from: is required, because the workflow grants access');
    expect(await compile([{ hear: hear(undefined) }, { grant }])).toEqual([required]);
    const nested = [
      { outer: { fork: { branches: [{ a: { do: [{ hear: hear(undefined) }] } }] } } },
      {
        safe: {
          try: [{ again: { for: { in: '${ [1] }' }, do: [{ grant }] } }],
          catch: { do: [{ hear: hear(undefined) }] },
        },
      },
    ];
    expect(await compile(nested)).toEqual([required, required]);
    expect(
      await compile([
        { hear: { ...hear({ requester: true }), foreach: { do: [{ inner: hear(undefined) }] } } },
        { grant },
      ]),
    ).toEqual([required]);
    expect(await compile([{ hear: hear(undefined) }])).toEqual([]);
    expect(await compile([{ hear: hear({ requester: true }) }, { grant }])).toEqual([]);
  });

  it('names only what there is', async () => {
    for (const from of [{}, { requester: false }, { groups: [] }, { anyone: true }, 'requester', null]) {
      expect(await compile([{ hear: { ...hear(undefined), metadata: { from } } }, { grant }])).not.toEqual([]);
    }
    expect(await compile([{ hear: hear({ sources: ['nowhere'] }) }, { grant }])).toEqual([
      expect.stringContaining('events.sources has no "nowhere"'),
    ]);
    expect(await compile([{ hear: hear({ approvers: true }) }, { grant }])).toEqual([
      expect.stringContaining('no access.approve'),
    ]);
  });

  it('has sources with one secret each, as a reference that is long enough', async () => {
    const source = (settings: object) => compile([], { events: { sources: { ci: settings } } });
    expect(await source({})).toEqual([expect.stringContaining('either token or standard_webhooks')]);
    expect(await source({ token })).toEqual([expect.stringContaining('must be a reference')]);
    expect(await source({ token: '${env:MISSING}' })).toEqual([expect.stringContaining('has no value')]);
    expect(await source({ token: '${env:CI}', standard_webhooks: { secret: '${env:HOOK}' } })).toHaveLength(1);
  });
});
