import type { ElevationRequest } from '@belay/sdk';
import { askForRequest } from '../ask-for-request.js';
import { usage } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';
import { followExecution } from '../follow-execution.js';

interface Options {
  role?: string;
  provider?: string[];
  duration?: string;
  reason?: string;
  identity?: string[];
  workflow?: string;
  watch?: boolean;
}

function fromOptions(options: Options): ElevationRequest {
  const { role, provider, duration, reason, identity, workflow } = options;
  if (role === undefined) throw usage('a request needs --role');
  return {
    role,
    ...(reason && { reason }),
    ...(provider && { providers: provider }),
    ...(duration && { duration }),
    ...(identity && { identities: identity }),
    ...(workflow && { workflow }),
  };
}

/** `belay request`: asks for a role, with flags or step by step; `--watch` follows it and ends with 8 without access. */
export function addRequest(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'request',
    description: 'ask for a role; asks step by step when run without options on a terminal',
    options: (command) =>
      command
        .option('--role <role>', 'the role to ask for')
        .option('--provider <provider...>', 'where; all of the role’s providers when left out')
        .option('--duration <duration>', 'for how long, as in PT1H or 1h30m; the role’s default when left out')
        .option('--reason <text>', 'why; most roles want to know')
        .option('--identity <identity...>', 'for whom; your own identity when left out')
        .option('--workflow <workflow>', 'one of the role’s workflows; its first when left out')
        .option('--watch', 'follow it until it is over'),
    run: async ({ options, output, interactive, connect, shell }) => {
      const {
        watch,
        json: _json,
        server: _server,
        ...flags
      } = options as Options & { json?: boolean; server?: string };
      const wizard = interactive && Object.keys(flags).length === 0;
      const given = wizard ? undefined : fromOptions(flags);
      const { client } = await connect();
      const request = given ?? (await askForRequest(client, shell));
      const idempotencyKey = Buffer.from(shell.randomBytes(16)).toString('hex');
      const elevation = await client.elevation.request({ ...request, idempotencyKey }, { signal: shell.signal });
      const id = elevation.output.execution_id;
      const show = watch ? output.event : output.result;
      show(elevation, () => output.fields({ execution: id, status: elevation.status }));
      return watch ? followExecution(client, id, output, { signal: shell.signal }) : undefined;
    },
  });
}
