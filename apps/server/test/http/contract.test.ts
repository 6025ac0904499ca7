import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callRest } from './support/caller.js';
import { send } from './support/serve.js';
import { createWorld, type World } from './support/world.js';

/** What a field must be: the interface's own words for types. */
type Shape = string | { [name: string]: Shape } | [Shape] | { each: Shape };

/**
 * The interface document, as far as this server goes: method, path, who may, and the documented fields of the answer.
 * `each` is an object keyed by names. Modes other than server are not composed yet.
 */
interface Row {
  method: 'GET' | 'POST';
  path: string;
  auth: boolean;
  body?: object;
  output: Shape;
}

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
    auth: true,
    output: { version: 'version', roles: { each: { role } } },
  },
  { method: 'GET', path: '/role/reader', auth: true, output: role },
  { method: 'GET', path: '/workflows', auth: true, output: { version: 'version', workflows: { each: workflow } } },
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
    auth: false,
    output: { status: 'string', timestamp: 'instant', version: 'marked version' },
  },
  {
    method: 'GET',
    path: '/metrics',
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

/** Where a value is not of its shape. */
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
beforeAll(async () => {
  world = await createWorld();
  requester = await world.token('requester');
});
afterAll(() => world[Symbol.asyncDispose]());

const call = (method: string, path: string, options: CallOptions = {}) => callRest(world.url, method, path, options);

const ask = async (token = requester, headers: Record<string, string> = {}, reason = 'An incident') => {
  const answer = await call('POST', '/elevate', { token, headers, body: { role: 'reader', reason } });
  const { output } = answer.json as { output?: { execution_id: string } };
  return { ...answer, id: output?.execution_id ?? '' };
};

describe('the interface', () => {
  it.each(rows)('$method $path answers what is documented', async ({ method, path, auth, body, output }) => {
    const { id } = await ask();
    const filled = path.replace('{id}', id);
    const given = { ...(body === undefined ? {} : { body }), ...(auth ? { token: requester } : {}) };
    const answer = await call(method, filled, given);
    expect([answer.status, answer.body.slice(0, 300)]).toEqual([200, expect.anything()]);
    expect(mismatches(answer.json, output)).toEqual([]);
    if (auth) expect((await call(method, filled, body === undefined ? {} : { body })).status).toBe(401);
  });

  it('serves health, readiness, metrics and the API configuration at the root as well', async () => {
    for (const path of ['/health', '/ready', '/metrics', '/.well-known/api-configuration']) {
      const answer = await send(`${world.url}${path}`);
      expect([path, answer.status]).toEqual([path, 200]);
      if (path === '/health') expect(JSON.parse(answer.body)).toMatchObject({ status: 'healthy', path: '/health' });
    }
  });

  it('does not have what belongs to other modes', async () => {
    for (const path of ['/session/demo', '/nothing']) {
      expect([path, (await call('GET', path, { token: requester })).status]).toEqual([path, 404]);
    }
  });
});
