import { serverRouter } from '@belay/api';
import { describe, expect, it } from 'vitest';
import { agentRouter } from '../../agent/src/routers/roots.js';
import { type BelayClient, createClient, isBelayError } from '../src/index.js';

/** The SDK call of each procedure that is for programs. */
const methods: Record<string, (client: BelayClient) => Promise<unknown> | AsyncGenerator> = {
  'access.connection': (client) => client.access.connection('id'),
  'access.list': (client) => client.access.list(),
  'access.return': (client) => client.access.return('id'),
  'admin.access': (client) => client.admin.listAccess(),
  'admin.agents': (client) => client.admin.listAgents(),
  'admin.configuration': (client) => client.admin.compareConfigurations({ version: '1.0.2' }),
  'admin.configurations': (client) => client.admin.listConfigurations(),
  'admin.endLogin': (client) => client.admin.endLogin({ id: 'id', reason: 'r' }),
  'admin.exportLogs': (client) => client.admin.exportLogs(),
  'admin.logs': (client) => client.admin.listLogs(),
  'admin.people': (client) => client.admin.listPeople(),
  'admin.person': (client) => client.admin.getPerson('u'),
  'admin.restore': (client) => client.admin.getRestore(),
  'admin.beginRestore': (client) => client.admin.beginRestore({ reason: 'r' }),
  'admin.answerLeftover': (client) => client.admin.answerLeftover({ id: 'id', answer: 'keep', reason: 'r' }),
  'admin.skipProvider': (client) => client.admin.skipProvider({ provider: 'p', reason: 'r' }),
  'admin.openRestore': (client) => client.admin.openRestore(),
  'admin.target': (client) => client.admin.getTarget('p'),
  'admin.confirmTarget': (client) => client.admin.confirmTarget({ provider: 'p', digest: 'd', reason: 'r' }),
  'admin.removeAgent': (client) => client.admin.removeAgent({ id: 'id', reason: 'r' }),
  'admin.separate': (client) => client.admin.separatePeople({ user: 'u', other: 'o', reason: 'r' }),
  'admin.stop': (client) => client.admin.stopPerson({ user: 'u', reason: 'r' }),
  'admin.overdue': (client) => client.admin.listOverdue(),
  'admin.retry': (client) => client.admin.retryRevocation({ id: 'id', reason: 'r' }),
  'admin.accept': (client) => client.admin.acceptLeft({ id: 'id', left: 'l', reason: 'r' }),
  'admin.revoke': (client) => client.admin.revokeAccess({ user: 'u', reason: 'r' }),
  'approvals.decide': (client) => client.approvals.decide({ id: 'id', verdict: 'deny' }),
  'approvals.approvers': (client) => client.approvals.approvers('id'),
  'approvals.decideMany': (client) =>
    client.approvals.decideMany({ ids: ['id'], request_digests: ['d'], verdict: 'deny' }),
  'approvals.inbox': (client) => client.approvals.list(),
  'auth.logout': (client) => client.auth.logout(),
  'auth.logoutProvider': (client) => client.auth.logout('corp'),
  'auth.page': (client) => client.auth.providers(),
  'auth.session': (client) => client.sessions.issue('corp'),
  'auth.token': (client) => client.auth.exchange({ code: 'c', code_verifier: 'v' }),
  'auth.whoami': (client) => client.auth.whoami(),
  'comments.add': (client) => client.comments.add({ id: 'id', text: 'why?', kind: 'question' }),
  'comments.list': (client) => client.comments.list('id', { limit: 5 }),
  'configuration.adopt': (client) => client.configuration.adopt('credential'),
  'configuration.describe': (client) => client.configuration.get(),
  'configuration.postflight': (client) => client.configuration.postflight({ status: 'ready' } as never),
  'configuration.preflight': (client) => client.configuration.preflight({ status: 'ready' } as never),
  'configuration.register': (client) => client.configuration.register({ name: 'a', description: '' } as never),
  'configuration.sync': (client) => client.configuration.sync(),
  'device.start': (client) => client.auth.startDevice(),
  'device.token': (client) => client.auth.pollDevice('code'),
  'elevation.dynamic': (client) => client.elevation.dynamicBounds(),
  'elevation.prepareResume': (client) => client.elevation.prepareResume({ execution_id: 'id', event: { type: 't' } }),
  'elevation.request': (client) => client.elevation.request({ role: 'r', idempotencyKey: 'k' }),
  'elevation.requestMany': (client) => client.elevation.requestMany({ roles: ['r'] }),
  'elevation.resume': (client) => client.elevation.resume('state'),
  'elevation.suggest': (client) => client.elevation.suggest({ reason: 'words' }),
  'executions.cancel': (client) => client.executions.cancel('id'),
  'executions.extend': (client) => client.executions.extend('id'),
  'executions.get': (client) => client.executions.get('id'),
  'executions.list': (client) => client.executions.list({ limit: 1 }),
  'executions.prepareSignal': (client) => client.executions.prepareSignal({ id: 'id', type: 't' }),
  'executions.signal': (client) => client.executions.signal({ id: 'id', input: 'i' }),
  'executions.start': (client) => client.executions.start({ workflow: 'w', input: { role: 'r' } }),
  'executions.terminate': (client) => client.executions.terminate('id'),
  'executions.watch': (client) => client.executions.watch('id'),
  'logs.export': (client) => client.logs.export(),
  'logs.list': (client) => client.logs.list(),
  'logs.record': (client) => client.logs.record([]),
  'preferences.get': (client) => client.preferences.get(),
  'preferences.set': (client) => client.preferences.set({ channels: null, muted: [], quiet_hours: null }),
  'providers.authorizeSession': (client) =>
    client.providers.authorizeSession('corp', { scopes: [], state: 's', redirect_uri: 'http://127.0.0.1' }),
  'providers.get': (client) => client.providers.get('p'),
  'providers.identities': (client) => client.providers.identities('p', { q: 'x', limit: 5, cursor: 'c' }),
  'providers.list': (client) => client.providers.list(),
  'providers.permissions': (client) => client.providers.permissions('p'),
  'providers.roles': (client) => client.providers.roles('p'),
  'reviews.close': (client) => client.reviews.close({ id: 'id', verdict: 'justified', note: 'n' }),
  'reviews.list': (client) => client.reviews.list(),
  'roles.get': (client) => client.roles.get('r'),
  'roles.list': (client) => client.roles.list(),
  'roles.star': (client) => client.roles.star('r'),
  'roles.starred': (client) => client.roles.starred(),
  'roles.unstar': (client) => client.roles.unstar('r'),
  'runs.beat': (client) => client.runs.beat('id'),
  'runs.end': (client) => client.runs.end('id'),
  'runs.start': (client) => client.runs.start({ role: 'r' }),
  'sessions.list': (client) => client.sessions.list(),
  'sessions.verify': (client) => client.sessions.verify('token'),
  'system.health': (client) => client.system.health(),
  'system.metrics': (client) => client.system.metrics(),
  'system.ready': (client) => client.system.ready(),
  'workflows.get': (client) => client.workflows.get('w'),
  'workflows.list': (client) => client.workflows.list(),
};

/** Procedures that only a browser, a provider or an event source calls, and second addresses of procedures above. */
const browserOnly = {
  'auth.backchannelLogout': 'where a provider says that a person has signed out there',
  'events.receive': 'where programs with a secret of their own post CloudEvents to',
  'hooks.receive': 'where a provider of messages posts signed requests to',
  'auth.callback': 'where a provider sends the browser back',
  'auth.metadata': 'what a provider reads about us',
  'auth.receive': 'where a provider posts to',
  'auth.request': 'where a browser begins to sign in',
  'device.decide': 'the form of `device.page`, which is confirmed in a browser',
  'device.page': 'where a person looks at what a machine asks',
  'program.decide': 'the form of `program.page`, which is confirmed in a browser',
  'program.page': 'where a person looks at which program wants to sign in',
  'preferences.choose': 'the form of `preferences.set`',
  'elevation.requestLink': 'a link that asks; `elevation.request` asks',
  'elevation.resumeLink': 'a link that resumes; `elevation.resume` resumes',
  'elevation.suggestForm': 'the form of `elevation.suggest`',
};

/** Procedures that only an agent or a client on this machine has. */
const local: Record<string, (client: BelayClient) => Promise<unknown>> = {
  'sessions.begin': (client) => client.sessions.begin('demo'),
  'sessions.get': (client) => client.sessions.get('demo'),
  'sessions.keep': (client) => client.sessions.keep({ code: 'c', provider: 'demo', session: 's' }),
  'sessions.remove': (client) => client.sessions.remove('demo'),
};

/** Returns a client whose every call is rejected, and the procedures that it called. */
function recording() {
  const called: string[] = [];
  const client = createClient({
    url: 'http://belay.invalid',
    retry: { attempts: 1, streamAttempts: 1 },
    fetch: async (input) => {
      called.push(new URL(input).pathname.replace('/trpc/', ''));
      return Response.json({ message: 'not here', code: 'NOT_FOUND' }, { status: 404 });
    },
  });
  return { client, called };
}

async function finish(call: Promise<unknown> | AsyncGenerator): Promise<unknown> {
  return ('next' in call ? call.next() : call).catch((error: unknown) => error);
}

describe('the SDK', () => {
  it('has a method for every procedure of the router that is for programs', () => {
    const procedures = Object.keys(serverRouter._def.procedures).sort();
    expect(procedures.length).toBeGreaterThan(40);
    expect([...Object.keys(methods), ...Object.keys(browserOnly)].sort()).toEqual(procedures);
  });

  it('has a method for what only agents and clients have', () => {
    const served = new Set(Object.keys(serverRouter._def.procedures));
    const beyond = Object.keys(agentRouter._def.procedures).filter((name) => !served.has(name));
    expect(Object.keys(local).sort()).toEqual(beyond.sort());
  });

  it.each(Object.entries({ ...methods, ...local }))('calls %s, and only that', async (procedure, call) => {
    const { client, called } = recording();
    const error = await finish(call(client));
    expect(called).toEqual([procedure]);
    expect(isBelayError(error, 'not_found')).toBe(true);
  });

  it('has no method beside those', async () => {
    const used = new Set<string>();
    const { client } = recording();
    const watched = Object.fromEntries(
      Object.entries(client).map(([resource, its]) => [
        resource,
        new Proxy(its as object, {
          get: (target, name) => {
            used.add(`${resource}.${String(name)}`);
            return Reflect.get(target, name) as unknown;
          },
        }),
      ]),
    ) as unknown as BelayClient;
    for (const call of Object.values({ ...methods, ...local })) await finish(call(watched));
    const all = Object.entries(client).flatMap(([resource, its]) =>
      Object.keys(its as object).map((name) => `${resource}.${name}`),
    );
    expect(all.filter((name) => !used.has(name))).toEqual([
      'elevation.requestDynamic',
      'executions.wait',
      'executions.waitUntilActive',
    ]);
  });

  it('asks dynamically with the same procedure, an idempotency key, and no role', async () => {
    const sent: [string, string | null, unknown][] = [];
    const client = createClient({
      url: 'http://belay.invalid',
      fetch: async (input, init) => {
        const key = new Headers(init?.headers).get('idempotency-key');
        sent.push([new URL(input).pathname, key, JSON.parse(String(init?.body))]);
        return Response.json({ result: { data: { status: 'pending', output: {} } } });
      },
    });
    const asked = { providers: ['p'], permissions: ['read'], reason: 'a ticket' };
    await client.elevation.requestDynamic({ ...asked, idempotencyKey: 'k' });
    expect(sent).toEqual([['/trpc/elevation.request', 'k', asked]]);
  });
});
