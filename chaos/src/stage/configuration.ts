import { goAhead, roles } from './names.js';

const grantAndHold = [{ grant: { call: 'access.grant' } }, { hold: { call: 'access.hold' } }];

/** Returns three races of a short timer and a long one, which run at the same time. The workflow ends when a long one wins. */
function raceTimers({ short, long }: { short: string; long: string }): unknown[] {
  const lost = { lost: { set: { won: 'the longer one' }, then: 'end' } };
  const timeouts = { errors: { with: { status: 408 } } };
  const branches = [
    { first: { do: [{ pause: { wait: short } }] } },
    { second: { do: [{ pause: { wait: long } }, lost] } },
  ];
  return [
    { twoWaits: { do: [{ race: { fork: { compete: true, branches } } }] } },
    {
      waitBeforeTimeout: {
        try: [{ pause: { wait: short, timeout: { after: long } } }],
        catch: { ...timeouts, do: [lost] },
      },
    },
    { timeoutBeforeWait: { try: [{ pause: { wait: long, timeout: { after: short } } }, lost], catch: timeouts } },
  ];
}

/**
 * Returns a loop of expressions that each take a quarter of the time limit of an expression, so that the limit is not reached on a
 * shared processor that is half as fast.
 */
const slowCount = (times: number) => ({
  count: {
    for: { each: 'item', in: `\${ [range(${times})] }` },
    do: [{ add: { set: { at: '${ reduce range(100000) as $n (0; . + $n) }' } } }],
  },
});

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
  // Ten thousand iterations, each with an expression.
  long: [{ count: { for: { each: 'item', in: '${ [range(10000)] }' }, do: [{ add: { set: { at: '${ $item }' } } }] } }],
  loop: [{ first: { set: { at: '${ 1 }' } } }, { second: { set: { at: '${ 2 }' }, then: 'first' } }],
  slow: [slowCount(1_000)],
  endless: [{ spin: { set: { never: '${ 0 | until(false; . + 1) }' } } }],
  // Makes a gigabyte again and again.
  huge: [
    {
      repeat: {
        for: { each: 'item', in: '${ [range(1000)] }' },
        do: [{ make: { try: [{ text: { set: { text: '${ "a" * ($item + 1e9) }' } } }], catch: {} } }],
      },
    },
  ],
  // Ten short expressions, for people whose requests run beside expensive ones.
  counted: [
    { count: { for: { each: 'item', in: '${ [range(10)] }' }, do: [{ add: { set: { at: '${ $item + 1 }' } } }] } },
    ...grantAndHold,
  ],
  delayed: [slowCount(400), ...grantAndHold],
  race: [{ races: { fork: { branches: raceTimers({ short: 'PT0.1S', long: 'PT1S' }) } } }, ...grantAndHold],
  unfair: [{ races: { fork: { branches: raceTimers({ short: 'PT1S', long: 'PT0.1S' }) } } }, ...grantAndHold],
};

/** Returns the configuration of the run, as JSON, which is YAML as well. */
export function makeConfiguration(): string {
  const provider = (name: string) => ({
    provider: 'postgres',
    config: { url: `\${env:TARGET_${name.toUpperCase()}}`, identity: 'username', email_domains: ['example.com'] },
  });
  return JSON.stringify({
    server: { limits: { open_requests: 100, requests_per_hour: 100_000, event_streams: 100 } },
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
