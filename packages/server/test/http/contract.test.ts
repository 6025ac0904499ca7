import { send } from '@belay/testkit/serve';
import { createWorld, type World } from '@belay/testkit/world';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Local, makeCredential, startLocal } from '../../../agent/test/support/local.js';
import { type CallOptions, callRest } from './support/caller.js';

/** The type that a field must have, in the words of docs/interface.md. */
type Shape = string | { [name: string]: Shape } | [Shape] | { each: Shape };

type Mode = 'server' | 'agent' | 'client';

/**
 * docs/interface.md as a table: method, path, the modes that have the operation, whether it requires a sign-in, and the documented
 * fields of the response. `each` describes an object keyed by names. Without `modes` only server mode has the operation.
 */
interface Row {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  modes?: Mode[];
  /** Whether server mode requires a signed-in person. */
  auth: boolean;
  /** Whether agents and clients require a signed-in person as well. */
  localAuth?: boolean;
  body?: object;
  output: Shape;
  /** The additional fields in responses of agents and clients. */
  localOutput?: Shape;
}

const everywhere: Mode[] = ['server', 'agent', 'client'];
const serverAndAgent: Mode[] = ['server', 'agent'];
const onMachines: Mode[] = ['agent', 'client'];
const session: Shape = { version: 'integer', expiry: 'instant', session: 'string' };

const execution: Shape = {
  workflow_id: 'string',
  run_id: 'string',
  status: 'string',
  start_time: 'instant',
  execution_time: 'duration',
  task_queue: 'string',
  user: 'string',
  workflow_type: { name: 'string' },
};
const role: Shape = {
  name: 'string',
  description: 'string',
  providers: ['string'],
  workflows: ['string'],
  enabled: 'boolean',
};
const workflow: Shape = { name: 'string', description: 'string', enabled: 'boolean' };
const elevation: Shape = { status: 'string', output: { workflow_id: 'string', execution_id: 'string' } };
const elevateQuery = 'role=reader&provider=store&reason=An%20incident&duration=PT5M';

const rows: Row[] = [
  {
    method: 'GET',
    path: '/providers?capability=authorizer,identities',
    modes: serverAndAgent,
    localAuth: true,
    auth: true,
    output: {
      version: 'version',
      providers: [
        {
          _id: 'string',
          _source: { id: 'string', name: 'string', description: 'string', provider: 'string', enabled: 'boolean' },
        },
      ],
    },
  },
  {
    method: 'GET',
    path: '/provider/store',
    auth: true,
    output: { name: 'string', description: 'string', provider: 'string', enabled: 'boolean' },
  },
  {
    method: 'GET',
    path: '/provider/store/roles?q=read',
    auth: true,
    output: {
      version: 'version',
      provider: 'string',
      roles: [{ name: 'string', arn: 'string', description: 'string' }],
    },
  },
  {
    method: 'GET',
    path: '/provider/store/permissions',
    auth: true,
    output: { version: 'version', provider: 'string', permissions: [{ name: 'string', description: 'string' }] },
  },
  {
    method: 'GET',
    path: '/provider/store/identities',
    auth: true,
    output: { version: 'version', provider: 'string', identities: [{ id: 'string', name: 'string', email: 'string' }] },
  },
  {
    method: 'POST',
    path: '/provider/demo/authorizeSession',
    auth: true,
    body: { scopes: ['openid'], state: 'mine', redirect_uri: 'http://127.0.0.1:5999/back' },
    output: { url: 'string', expires_in: 'integer' },
  },
  {
    method: 'GET',
    path: '/sessions',
    modes: everywhere,
    localOutput: { version: 'version', timestamp: 'instant', sessions: { each: session } },
    auth: true,
    output: { version: 'version', timestamp: 'instant', sessions: { each: { version: 'integer', expiry: 'instant' } } },
  },
  { method: 'GET', path: `/elevate?${elevateQuery}`, auth: true, output: elevation },
  {
    method: 'POST',
    path: '/elevate',
    auth: true,
    body: {
      role: {
        name: 'reader',
        description: 'Read the store',
        providers: ['store'],
        workflows: ['approve-and-grant'],
        enabled: true,
      },
      providers: ['store'],
      workflow: 'approve-and-grant',
      reason: 'An incident',
      duration: 'PT5M',
      identities: [],
    },
    output: elevation,
  },
  { method: 'GET', path: '/executions', auth: true, output: { executions: [execution] } },
  {
    method: 'POST',
    path: '/execution',
    auth: true,
    body: { workflow: 'approve-and-grant', input: { role: 'reader', provider: 'store', reason: 'An incident' } },
    output: { workflow_id: 'string', run_id: 'string', status: 'string' },
  },
  {
    method: 'GET',
    path: '/execution/{id}',
    auth: true,
    output: { ...execution, history: [{ event_type: 'string', timestamp: 'instant' }] },
  },
  { method: 'GET', path: '/execution/{id}/cancel', auth: true, output: { status: 'string', message: 'string' } },
  { method: 'GET', path: '/execution/{id}/terminate', auth: true, output: { status: 'string', message: 'string' } },
  {
    method: 'GET',
    path: '/.well-known/api-configuration',
    modes: everywhere,
    auth: false,
    output: {
      serviceName: 'string',
      serviceType: 'string',
      version: 'version',
      baseUrl: 'string',
      apiBasePath: 'string',
      authEndpoint: 'string',
      authMethods: ['string'],
      docsUrl: 'string',
      openApiSpec: 'string',
      capabilities: { workflow_engine: 'boolean', vault: 'boolean' },
    },
  },
  { method: 'GET', path: '/sync', auth: true, output: { version: 'marked version', timestamp: 'instant' } },
  {
    method: 'GET',
    path: '/roles?provider=store',
    modes: serverAndAgent,
    localAuth: true,
    auth: true,
    output: { version: 'version', roles: { each: { role } } },
  },
  { method: 'GET', path: '/role/reader', auth: true, output: role },
  {
    method: 'GET',
    path: '/workflows',
    modes: serverAndAgent,
    auth: true,
    output: { version: 'version', workflows: { each: workflow } },
  },
  {
    method: 'GET',
    path: '/workflow/approve-and-grant',
    auth: true,
    output: {
      ...workflow,
      document: { dsl: 'string', namespace: 'string', name: 'string', version: 'string', do: ['object'] },
    },
  },
  {
    method: 'GET',
    path: '/health',
    modes: everywhere,
    auth: false,
    output: {
      status: 'string',
      path: 'string',
      timestamp: 'instant',
      version: 'marked version',
      services: {
        workflow_engine: 'string',
        llm: 'string',
        encryption: 'string',
        vault: 'string',
        scheduler: 'string',
        storage: 'string',
      },
    },
  },
  {
    method: 'GET',
    path: '/ready',
    modes: everywhere,
    auth: false,
    output: { status: 'string', timestamp: 'instant', version: 'marked version' },
  },
  {
    method: 'GET',
    path: '/metrics',
    modes: everywhere,
    auth: false,
    output: {
      uptime: 'string',
      total_requests: 'integer',
      roles_count: 'integer',
      workflows_count: 'integer',
      providers_count: 'integer',
      elevate_requests: 'integer',
    },
  },
  {
    method: 'GET',
    path: '/logs',
    modes: everywhere,
    auth: true,
    output: {
      logs: [
        {
          timestamp: 'instant',
          level: 'string',
          message: 'string',
          provider: 'string',
          user: 'string',
          workflow_id: 'string',
        },
      ],
    },
  },
  { method: 'GET', path: '/auth', modes: serverAndAgent, auth: false, output: { providers: ['object'] } },
  { method: 'GET', path: '/session/demo', modes: onMachines, auth: false, output: { session } },
  {
    method: 'POST',
    path: '/sessions',
    modes: onMachines,
    auth: false,
    body: { code: '{code}', provider: 'demo', session: '{session}' },
    output: { message: 'string', expiry: 'instant' },
  },
  { method: 'DELETE', path: '/session/demo', modes: onMachines, auth: false, output: { message: 'string' } },
];

const checks: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  integer: (value) => Number.isInteger(value),
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  version: (value) => typeof value === 'string' && /^\d+\.\d+\.\d+$/.test(value),
  'marked version': (value) => typeof value === 'string' && /^\d+\.\d+\.\d+( \(git: \w+\))?$/.test(value),
  instant: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value),
  duration: (value) => typeof value === 'string' && /^P(?=[\dT])(\d+D)?(T(\d+H)?(\d+M)?([\d.]+S)?)?$/.test(value),
};

/** Returns where a value differs from a shape. */
function mismatches(value: unknown, shape: Shape, path = ''): string[] {
  if (typeof shape === 'string')
    return checks[shape]?.(value) === true ? [] : [`${path}: not ${shape}: ${JSON.stringify(value)}`];
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return [`${path}: not an array`];
    return value.flatMap((item, index) => mismatches(item, shape[0], `${path}[${index}]`));
  }
  if (typeof value !== 'object' || value === null) return [`${path}: not an object`];
  if ('each' in shape) {
    const { each } = shape;
    return Object.entries(value).flatMap(([key, item]) => mismatches(item, each as Shape, `${path}.${key}`));
  }
  const fields = value as Record<string, unknown>;
  return Object.entries(shape).flatMap(([key, inner]) => mismatches(fields[key], inner, `${path}.${key}`));
}

let world: World;
let requester: string;
let local: Record<'agent' | 'client', Local>;
beforeAll(async () => {
  world = await createWorld();
  requester = await world.token('requester');
  const agent = await startLocal(world, { mode: 'agent', credential: await makeCredential(world, 'contract') });
  local = { agent, client: await startLocal(world, { mode: 'client' }) };
  await agent.agent.sync();
});
afterAll(async () => {
  for (const each of Object.values(local ?? {})) await each[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);

const ask = async (token = requester, headers: Record<string, string> = {}, reason = 'An incident') => {
  const answer = await call('POST', '/elevate', { token, headers, body: { role: 'reader', reason } });
  const { output } = answer.json as { output?: { execution_id: string } };
  return { ...answer, id: output?.execution_id ?? '' };
};

describe('the interface', () => {
  // Makes a request, so that no list is empty.
  beforeAll(() => ask());

  it.each(rows.filter(({ modes = ['server'] }) => modes.includes('server')))(
    '$method $path answers what is documented',
    async ({ method, path, auth, body, output }) => {
      const filled = path.includes('{id}') ? path.replace('{id}', (await ask()).id) : path;
      const given = {
        headers: { accept: 'application/json' },
        ...(body === undefined ? {} : { body }),
        ...(auth ? { token: requester } : {}),
      };
      const answer = await call(method, filled, given);
      expect([answer.status, answer.body.slice(0, 300)]).toEqual([200, expect.anything()]);
      expect(mismatches(answer.json, output)).toEqual([]);
      if (auth) expect((await call(method, filled, body === undefined ? {} : { body })).status).toBe(401);
    },
  );

  it('serves health, readiness, metrics and the API configuration at the root as well', async () => {
    for (const path of ['/health', '/ready', '/metrics', '/.well-known/api-configuration']) {
      const answer = await send(`${world.url}${path}`);
      expect([path, answer.status]).toEqual([path, 200]);
      if (path === '/health') expect(JSON.parse(answer.body)).toMatchObject({ status: 'healthy', path: '/health' });
    }
  });

  it('does not have what belongs to other modes', async () => {
    for (const { method, path, modes = ['server'] } of rows) {
      if (modes.includes('server')) continue;
      const answer = await call(method, path, { token: requester, ...(method === 'POST' ? { body: {} } : {}) });
      expect([path, answer.status]).toEqual([path, path === '/sessions' ? 405 : 404]);
    }
    expect((await call('GET', '/nothing', { token: requester })).status).toBe(404);
  });
});

describe.each(['agent', 'client'] as const)('the interface in %s mode', (mode) => {
  /** Signs a person in, and returns one of their sessions. */
  async function signIn(): Promise<string> {
    await local.agent.signIn('requester');
    const { json } = await local.agent.call('GET', '/session/demo');
    const { session: token } = (json as { session: { session: string } }).session;
    if (mode === 'client') await keep(token);
    return token;
  }
  /** A session for the calls that only read, which do not change it. */
  let lasting: string | undefined;
  const keep = (token: string) =>
    local[mode].call('POST', '/sessions', {
      body: { code: local[mode].agent.beginLogin('demo').code, provider: 'demo', session: token },
    });
  const paths = (path: string) => [path, `/api/v1${path}`];

  it.each(rows.filter(({ modes }) => modes?.includes(mode)))(
    '$method $path answers what is documented, with the prefix and without',
    async (row) => {
      const endSession = async () => {
        lasting = undefined;
        await local[mode].call('DELETE', '/session/demo');
      };
      for (const path of paths(row.path)) {
        if (row.method !== 'GET') await endSession();
        lasting ??= await signIn();
        const token = lasting;
        const { code } = local[mode].agent.beginLogin('demo');
        const body = row.body && { code, provider: 'demo', session: token };
        const answer = await local[mode].call(row.method, path, body ? { body } : {});
        expect([answer.status, answer.body.slice(0, 300)]).toEqual([200, expect.anything()]);
        expect(mismatches(answer.json, row.localOutput ?? row.output)).toEqual([]);
        if (row.method !== 'GET' || row.localAuth) await endSession();
        if (row.localAuth) expect((await local[mode].call(row.method, path)).status).toBe(401);
      }
    },
  );

  const foreign = rows.filter(({ modes = ['server'] }) => !modes.includes(mode));
  it.each(foreign)('$method $path is not there', async ({ method, path, body }) => {
    for (const each of paths(path.replace('{id}', 'x'))) {
      const answer = await local[mode].call(method, each, body ? { body } : {});
      expect([each, answer.status, answer.json]).toEqual([
        each,
        404,
        { message: expect.any(String), code: 'NOT_FOUND' },
      ]);
    }
  });

  it.each([
    '/home',
    '/reference',
    '/openapi.json',
    '/assets/belay.css',
    '/auth/callback/demo',
    '/auth/token',
    '/inbox',
  ])('%s is not there either', async (path) => {
    expect((await local[mode].call('GET', path)).status).toBe(404);
  });
});
