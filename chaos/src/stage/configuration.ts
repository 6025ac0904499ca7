import { goAhead, roles } from './names.js';

const grantAndHold = [{ grant: { call: 'access.grant' } }, { hold: { call: 'access.hold' } }];

const tasks: Record<string, unknown[]> = {
  automatic: grantAndHold,
  approved: [
    { approve: { call: 'access.approve', with: { stages: [{ approvers: { groups: ['approvers'] } }] } } },
    { decide: { switch: [{ refused: { when: '${ .approved == false }', then: 'end' } }] } },
    ...grantAndHold,
  ],
  signalled: [
    { ready: { listen: { to: { one: { with: { type: goAhead } } } }, metadata: { from: { requester: true } } } },
    ...grantAndHold,
  ],
  // Ten thousand moves of the machine, each with an expression.
  long: [{ count: { for: { each: 'item', in: '${ [range(10000)] }' }, do: [{ add: { set: { at: '${ $item }' } } }] } }],
  loop: [{ first: { set: { at: '${ 1 }' } } }, { second: { set: { at: '${ 2 }' }, then: 'first' } }],
  // Each expression is near its limit.
  slow: [
    {
      count: {
        for: { each: 'item', in: '${ [range(1000)] }' },
        do: [{ add: { set: { at: '${ reduce range(200000) as $n (0; . + $n) }' } } }],
      },
    },
  ],
  endless: [{ spin: { set: { never: '${ 0 | until(false; . + 1) }' } } }],
};

/** Returns the configuration of the run, as JSON, which is YAML as well. */
export function makeConfiguration(): string {
  const provider = (name: string) => ({
    provider: 'postgres',
    config: { url: `\${env:TARGET_${name.toUpperCase()}}`, identity: 'username', email_domains: ['example.com'] },
  });
  return JSON.stringify({
    server: { limits: { open_requests: 100, event_streams: 100 } },
    providers: { one: provider('one'), two: provider('two') },
    roles: Object.fromEntries(
      Object.entries(roles).map(([name, { grants, workflow }]) => [
        name,
        {
          providers: grants.map((grant) => grant.split('/')[0]),
          inherits: grants.map((grant) => grant.replace('/', ':')),
          permissions: { groups: ['engineers'] },
          workflows: [workflow],
        },
      ]),
    ),
    workflows: Object.fromEntries(
      Object.entries(tasks).map(([name, list]) => [
        name,
        { workflow: { document: { dsl: '1.0.3', namespace: 'chaos', name, version: '1.0.0' }, do: list } },
      ]),
    ),
  });
}
