import { type Middle, standBetween } from '@belay/testkit/middle';
import { createWorld, type Person, type World } from '@belay/testkit/world';
import { openTerminal, type Terminal } from './run.js';

/** The real server, behind a proxy that records the calls of the command line and can change a response for a test. */
export interface Belay extends AsyncDisposable {
  world: World;
  between: Middle;
  url: string;
  /** The token of Rita, who can request `reader`. */
  token: string;
  /** The terminal in which Rita runs commands. */
  terminal: Terminal;
  /** Returns the settings with which another person runs commands. */
  as(person: Person): Promise<{ server: string; token: string }>;
  /** Requests a role as Rita; resolves to the id of the request once it waits for an approver. */
  request(...args: string[]): Promise<string>;
  /** The calls that changed something, oldest first. */
  changes(): { path: string; input: unknown; idempotencyKey: unknown }[];
}

const workflow = (name: string, tasks: object[]) => ({
  workflow: { document: { dsl: '1.0.3', namespace: 'test', name, version: '1.0.0' }, do: tasks },
});

const denied = {
  type: 'https://belay.example.test/denied',
  status: 403,
  title: 'Denied',
  detail: 'no approver approved',
};

/** Workflows in addition to the one with an approval: one that grants at once, and one that rejects at once. */
const workflows = {
  automatic: workflow('automatic', [{ grant: { call: 'access.grant' } }, { hold: { call: 'access.hold' } }]),
  rejecting: workflow('rejecting', [{ reject: { raise: { error: denied } } }]),
};

type Change = NonNullable<NonNullable<Parameters<typeof createWorld>[0]>['change']>;
type Configured = ReturnType<Change> & Parameters<Change>[0];

/** Starts the server. Due work is done at once, as workers would do it. */
export async function openBelay(change: (document: Configured) => object = (same) => same): Promise<Belay> {
  const world = await createWorld({
    work: true,
    change: (document) => {
      const { reader } = document.roles;
      const roles = {
        ...document.roles,
        reader: { ...reader, workflows: [...reader.workflows, ...Object.keys(workflows)] },
      };
      return change({ ...document, roles, workflows: { ...document.workflows, ...workflows } });
    },
  });
  const between = await standBetween(world.url);
  const token = await world.token('requester', 'device');
  const terminal = await openTerminal({ server: between.url, token });
  return {
    world,
    between,
    url: between.url,
    token,
    terminal,
    as: async (person) => ({ server: between.url, token: await world.token(person, 'device') }),
    async request(...args) {
      const wanted = args.length > 0 ? args : ['--role', 'reader'];
      const { code, stdout, stderr } = await terminal.run([
        'request',
        ...wanted,
        '--reason',
        'month end',
        '--no-wait',
        '--jq',
        '.output.execution_id',
      ]);
      if (code !== 0) throw new Error(stderr);
      await world.drive();
      return stdout.trim();
    },
    changes: () =>
      between.requests
        .filter(({ method, procedure }) => method === 'POST' && procedure !== 'elevation.suggest')
        .map(({ procedure, input, headers }) => ({
          path: procedure,
          input,
          idempotencyKey: headers['idempotency-key'],
        })),
    async [Symbol.asyncDispose]() {
      await terminal[Symbol.asyncDispose]();
      await between[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}
