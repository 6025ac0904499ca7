import { findLiteralSecrets, getWorkflow } from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compareEntries } from '../src/configuration/compare.js';
import { withoutCredentials } from '../src/configuration/credentials.js';
import { type Cast, openCast } from './support/stories.js';

const call = (given: object) => ({ call: 'http', with: { method: 'post', ...given } });
const bearer = { authentication: { bearer: { token: 'SECRET-1' } } };
const tasks = [
  {
    headers: call({ endpoint: { uri: 'https://user:SECRET-2@api.example.com/v1/{id}?key=SECRET-3#part', ...bearer } }),
  },
  {
    nested: {
      try: [
        {
          body: call({
            uri: 'https://SECRET-4@api.example.com',
            headers: { 'X-Api-Key': 'SECRET-5', Accept: 'text/plain' },
            query: { code: 'SECRET-6', page: 9_876_543 },
            body: { login: { pin: ['SECRET-7', 'SECRET-8'] } },
          }),
        },
      ],
      catch: { do: [{ again: call({ endpoint: '${ "https://api.example.com/?key=SECRET-9" }', body: 'SECRET-10' }) }] },
    },
  },
  {
    both: {
      fork: {
        branches: [
          {
            one: call({
              endpoint: {
                uri: 'https://a.example.com',
                authentication: { basic: { username: 'SECRET-11', password: 'SECRET-12' } },
              },
            }),
          },
          {
            two: call({
              endpoint: { uri: 'https://a.example.com', authentication: { use: 'reusable' } },
              headers: '${ {"X-Key": "SECRET-13"} }',
            }),
          },
        ],
      },
    },
  },
  { kept: { set: { api_token: 'SECRET-14', shown: 'https://docs.example.com/page' } } },
];

/** Addresses whose path has a secret, and what is shown of them. */
const paths: [address: string, shown: string][] = [
  ['https://hooks.slack.com/services/T0SECRET1/B0SECRET2/abcdefghij', 'https://hooks.slack.com/…/…/…/…'],
  [
    'https://discord.com/api/webhooks/112233445566778899/aB3-SECRET_x9Zq0LmN4pQ7rS2tU5vW8',
    'https://discord.com/api/webhooks/…/…',
  ],
  [
    'https://acme.webhook.office.com/webhookb2/8f14e45f-ceea-467f-a8d2-SECRET3/IncomingWebhook/SECRET4/5',
    'https://acme.webhook.office.com/…/…/…/…/…',
  ],
  [
    'https://api.telegram.org/bot110201543:AAHdqTcvCH1vGWJxfSECRET5/sendMessage',
    'https://api.telegram.org/…/sendMessage',
  ],
  ['https://hook.example.com:8443/in/0b12cdbef1f44f0a9c4e/post', 'https://hook.example.com:8443/in/…/post'],
  ['https://hook.example.com/in/qwertyuiopasdfghjklzxcvb', 'https://hook.example.com/in/…'],
  ['https://hook.example.com/%41bc/v1', 'https://hook.example.com/…/v1'],
];
/** Addresses without a secret, which are shown as they are. */
const plain = [
  'https://api.example.com/v1/change-requests/{id}/approve.json',
  'https://api.example.com/api/v2.1/listUsers/2024/page_2',
  'https://api.example.com/{tenant}-prod/tickets:search',
];

describe('the path of an address in a workflow', () => {
  const shown = (endpoint: string) => {
    const [task] = withoutCredentials([{ post: call({ endpoint }) }]);
    return task?.post.with as unknown;
  };

  it.each(paths)('is shown without its secret: %s', (endpoint, left) => {
    expect(shown(endpoint)).toEqual({ method: 'post', endpoint: left });
    expect(shown(`\${ "${endpoint}" }`)).toEqual({ method: 'post', endpoint: '…' });
    const changes = [...compareEntries(undefined, { workflow: { do: [{ uri: endpoint }] } }, ['workflows', 'calls'])];
    expect(JSON.stringify(changes)).not.toContain(endpoint);
  });

  it.each(plain)('is shown where it consists of words: %s', (endpoint) => {
    expect(shown(endpoint)).toEqual({ method: 'post', endpoint });
  });

  it('is warned of where it is most likely a secret', () => {
    const warned = (endpoint: string) =>
      findLiteralSecrets({ workflows: { w: { workflow: { do: [{ post: call({ endpoint }) }] } } } }).length > 0;
    expect(paths.slice(0, 6).map(([endpoint]) => warned(endpoint))).toEqual(Array(6).fill(true));
    const id = 'https://api.example.com/projects/8f14e45f-ceea-467f-a8d2-0123456789ab';
    expect([...plain, id].map(warned)).toEqual(Array(4).fill(false));
  });
});

describe('a workflow with credentials', () => {
  let cast: Cast;
  beforeEach(async () => {
    const catalog = approvalCatalog({ role: { workflows: ['approved', 'automatic', 'calls'] } }) as {
      workflows: object;
    };
    const workflow = {
      description: 'Calls',
      workflow: {
        document: { dsl: '1.0.3', namespace: 'test', name: 'calls', version: '1.0.0' },
        use: { authentications: { reusable: { bearer: { token: 'SECRET-15' } } } },
        do: tasks,
      },
    };
    cast = await openCast({
      catalog: {
        ...catalog,
        server: { http_hosts: ['api.example.com', 'a.example.com'] },
        workflows: { ...catalog.workflows, calls: workflow },
      },
    });
  });
  afterEach(() => cast[Symbol.asyncDispose]());

  it('shows none of them, and all that its tasks do', () => {
    const shown = JSON.stringify(getWorkflow(cast.ada, { name: 'calls' }));
    expect(shown.match(/SECRET-\d+|9876543/g)).toBeNull();
    const { document } = getWorkflow(cast.ada, { name: 'calls' });
    const [first, second, third, fourth] = document.do as { [name: string]: unknown }[];
    expect(first).toMatchObject({
      headers: {
        call: 'http',
        with: { method: 'post', endpoint: { uri: 'https://…@api.example.com/v1/{id}?…#part' } },
      },
    });
    expect(second).toMatchObject({
      nested: {
        try: [{ body: { with: { headers: { 'X-Api-Key': '…', Accept: '…' }, body: { login: { pin: ['…', '…'] } } } } }],
      },
    });
    expect(third).toMatchObject({
      both: { fork: { branches: [{}, { two: { with: { endpoint: { authentication: { use: 'reusable' } } } } }] } },
    });
    expect(fourth).toEqual({ kept: { set: { api_token: '…', shown: 'https://docs.example.com/page' } } });
  });

  it('shows none of them to an auditor who compares two versions', () => {
    const changes = [...compareEntries(undefined, { workflow: { do: tasks } }, ['workflows', 'calls'])];
    expect(JSON.stringify(changes).match(/SECRET-\d+/g)).toBeNull();
  });

  it('is warned of when it is validated', () => {
    const paths = findLiteralSecrets({ workflows: { calls: { workflow: { do: tasks } } } }).map(({ path }) => path);
    expect(paths).toEqual([
      'workflows.calls.workflow.do[0].headers.with.endpoint.uri',
      'workflows.calls.workflow.do[0].headers.with.endpoint.authentication.bearer.token',
      'workflows.calls.workflow.do[1].nested.try[0].body.with.headers.X-Api-Key',
      'workflows.calls.workflow.do[2].both.fork.branches[0].one.with.endpoint.authentication.basic.password',
      'workflows.calls.workflow.do[3].kept.set.api_token',
    ]);
  });

  it('is not warned of where it has an expression, a plain header or a query without a secret', () => {
    const fine = call({
      uri: 'https://api.example.com/?page=2',
      headers: { Accept: 'text/plain', Authorization: '${ "Bearer " + .token }' },
    });
    expect(findLiteralSecrets({ workflows: { calls: { workflow: { do: [{ fine }] } } } })).toEqual([]);
  });
});
