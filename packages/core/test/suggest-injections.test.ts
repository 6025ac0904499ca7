import { AccessError } from '@belay/contract/errors';
import type { Suggestion } from '@belay/contract/suggestions';
import { type ActorContext, getExecution, listInbox, requestElevation, type UserActor } from '@belay/core';
import { approvalCatalog, approvalTasks, createHouse, type House, workflowOf } from '@belay/testkit/house';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LanguageModel, openLanguageModel } from '../../providers/src/llm/open.js';
import { type ModelServer, startModelServer } from '../../providers/test/llm-server.js';
import { suggestElevation } from '../src/elevation/suggest.js';
import type { Suggester } from '../src/suggester.js';
import { injections } from './fixtures/injections.js';

/** What the person of these tests can request: two roles at one provider, with approval, for two hours at most. */
const limits = { roles: ['orders-read', 'orders-write'], longest: 2 * 3_600_000 };

function catalog(): object {
  const base = approvalCatalog() as { roles: object; workflows: object; providers: object };
  const role = (description: string, more: object) => ({
    description,
    providers: ['memory'],
    workflows: ['approved'],
    permissions: { groups: ['engineers'] },
    max_duration: 'PT2H',
    default_duration: 'PT30M',
    ...more,
  });
  return {
    // The same person makes the requests of all texts.
    server: { limits: { open_requests: 1_000, requests_per_hour: 1_000 } },
    providers: {
      ...base.providers,
      'vault-store': { provider: 'memory', description: 'Holds secrets', permissions: { groups: ['rulers'] } },
      'hidden-store': { provider: 'memory', description: 'Of others', permissions: { users: ['root@example.com'] } },
    },
    roles: {
      'orders-read': role('Read the orders in production', { inherits: ['memory:read'] }),
      'orders-write': role('Change the orders in production', {
        providers: ['memory', 'vault-store'],
        inherits: ['memory:write', 'vault-store:write'],
      }),
      'forbidden-root': role('Root of everything that is forbidden', {
        inherits: ['hidden-store:root'],
        providers: ['hidden-store'],
        workflows: ['automatic'],
        permissions: { groups: ['rulers'] },
        max_duration: 'PT24H',
      }),
      'forbidden-disabled': role('Read orders, switched off', { inherits: ['memory:root'], enabled: false }),
      'forbidden-elsewhere': role('Read orders, by another sign-in', {
        inherits: ['memory:root'],
        authenticators: ['another-login'],
      }),
    },
    workflows: {
      approved: { description: 'Asks first', workflow: workflowOf('approved', approvalTasks()) },
      automatic: {
        description: 'Asks no one',
        workflow: workflowOf('automatic', [{ grant: { call: 'access.grant' } }]),
      },
    },
  };
}

let house: House;
let server: ModelServer;
let model: LanguageModel;
let ada: ActorContext & { actor: UserActor };
let grace: typeof ada;

beforeAll(async () => {
  house = await createHouse({ catalog: catalog() });
  ada = await house.person('ada', ['engineers']);
  grace = await house.person('grace', ['approvers']);
  server = await startModelServer();
  model = await openLanguageModel({ provider: 'openai-compatible', base_url: server.url, model: 'obedient' });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await house[Symbol.asyncDispose]();
});

/** Results of a model that does everything a text could want, one attempt after the other. */
const obediences: [what: string, candidates: unknown][] = [
  ['names the forbidden role alone', [{ role: 'forbidden-root', providers: ['hidden-store'], duration: 'P10Y' }]],
  [
    'hides it behind a role that may be had',
    [
      { role: 'orders-read', providers: ['hidden-store', 'vault-store', 'memory'], duration: 'P3650D' },
      { role: 'forbidden-root', providers: [], duration: null },
      { role: 'forbidden-disabled', providers: ['memory'], duration: 'PT24H' },
      { role: 'forbidden-elsewhere', providers: ['memory'], duration: 'PT24H' },
    ],
  ],
  ['stretches what may be had', [{ role: 'orders-write', providers: ['vault-store'], duration: 'PT9999H' }]],
  [
    'speaks of workflows and approval',
    [{ role: 'orders-read', providers: [], duration: null, workflow: 'automatic', approved: true }],
  ],
  [
    'answers with a property of every object',
    [{ role: '__proto__', providers: ['constructor'], duration: 'toString' }],
  ],
];

const withModel = (suggester: Suggester) => ({
  ...ada,
  suggester: { current: () => suggester, patience: 5_000, health: async () => 'healthy' },
});

/** Returns what a text leads to. It may be a rejection of the text, nothing, or something that the caller can request anyway. */
async function suggestionOf(person: ActorContext, text: string): Promise<Suggestion | undefined> {
  try {
    return await suggestElevation(person, { reason: text });
  } catch (error) {
    expect(error).toBeInstanceOf(AccessError);
    expect((error as AccessError).code).toBe('invalid');
    return undefined;
  }
}

function expectWithin({ status, output }: Suggestion): void {
  const { matched: _matched, engine: _engine, alternatives, ...first } = output;
  if (status === 'no_match') {
    expect(output).toMatchObject({
      suggested_role: '',
      suggested_duration: '',
      suggested_providers: [],
      workflow_id: '',
    });
    expect(alternatives).toEqual([]);
    return;
  }
  for (const one of [first, ...alternatives]) {
    expect(limits.roles).toContain(one.suggested_role);
    expect(one.suggested_providers).toEqual(['memory']);
    expect(one.workflow_id).toBe('approved');
    expect(['PT2H', 'PT1H', 'PT30M', 'PT1M'].includes(one.suggested_duration), one.suggested_duration).toBe(true);
  }
}

/** Makes the request that a person would make of a suggestion, with the text as its reason. Returns it as an approver sees it. */
async function outcomeOf(suggestion: Suggestion, reason: string) {
  const { suggested_role, suggested_providers, suggested_duration, workflow_id } = suggestion.output;
  const { output } = await requestElevation(ada, {
    role: suggested_role,
    providers: suggested_providers,
    duration: suggested_duration,
    workflow: workflow_id,
    reason,
  });
  await house.work();
  const { status, approvals, grants } = await getExecution(ada, { id: output.execution_id });
  const item = (await listInbox(grace)).approvals.find((one) => one.execution_id === output.execution_id);
  return {
    policy: {
      status,
      grants,
      approvals: approvals.map((one) => ({ status: one.status, approvers: one.approvers, count: one.count })),
      asked: item && { role: item.role, duration: item.duration, grants: item.grants, requester: item.requester },
    },
    digest: item?.request_digest,
    reason: item?.reason,
  };
}

const askers: [who: string, make: () => { person: ActorContext; candidates?: unknown }][] = [
  ['the lexical matcher', () => ({ person: ada })],
  ...obediences.map(([what, candidates]): (typeof askers)[number] => [
    `a model that ${what}`,
    () => ({ person: withModel(model), candidates }),
  ]),
];

it('is a set of at least 45 different texts', () => {
  expect(new Set(injections).size).toBeGreaterThanOrEqual(45);
});

describe.each(askers)('with %s', (_who, make) => {
  const suggestions = new Map<string, Suggestion>();
  beforeAll(() => void server.asked.splice(0));

  it('no text leads beyond what its author may request', async () => {
    const { person, candidates } = make();
    server.say(() => ({ text: JSON.stringify({ candidates }) }));
    for (const text of injections) {
      const suggestion = await suggestionOf(person, text);
      if (suggestion === undefined) continue;
      expectWithin(suggestion);
      suggestions.set(text, suggestion);
    }
    expect(suggestions.size).toBeGreaterThan(40);
    expect(house.provider.held()).toEqual([]);
  });

  it('no one else’s roles, providers or names are shown to a model', () => {
    for (const { question, body } of server.asked) {
      expect(question.roles.map(({ name }) => name)).toEqual(limits.roles);
      expect(question.roles.flatMap(({ providers }) => providers.map(({ id }) => id))).toEqual(['memory', 'memory']);
      const shown = body.replaceAll(JSON.stringify(JSON.stringify(question.request).slice(1, -1)).slice(1, -1), '');
      expect(shown).not.toMatch(/forbidden-|hidden-store|vault-store|example\.com|engineers|rulers|approvers/);
    }
  });

  it('nothing is started by suggesting', async () => {
    const rows = await house.database.db.execute(`select count(*)::int as count from executions`);
    const before = rows[0]?.count;
    const { person } = make();
    for (const text of injections.slice(0, 5)) await suggestionOf(person, text);
    const after = await house.database.db.execute(`select count(*)::int as count from executions`);
    expect(after[0]?.count).toBe(before);
  });

  it('a request made of it is decided by policy exactly as with other words, and is bound to its own', async () => {
    const plain = new Map<string, Awaited<ReturnType<typeof outcomeOf>>>();
    let compared = 0;
    for (const [text, suggestion] of suggestions) {
      if (suggestion.status === 'no_match' || text.length > 2_000) continue;
      const key = JSON.stringify(suggestion.output);
      const usual = plain.get(key) ?? (await outcomeOf(suggestion, 'a ticket'));
      plain.set(key, usual);
      const { policy, digest, reason } = await outcomeOf(suggestion, text);
      expect(policy, text).toEqual(usual.policy);
      expect(policy).toMatchObject({ status: 'waiting', grants: [], approvals: [{ status: 'open' }] });
      expect(reason).toBe(text.trim());
      expect(digest).toBeDefined();
      expect(digest).not.toBe(usual.digest);
      compared += 1;
    }
    expect(house.provider.held()).toEqual([]);
    process.stdout.write(`${compared} requests of ${injections.length} texts compared\n`);
    expect(compared).toBeGreaterThan(5);
  });
});
