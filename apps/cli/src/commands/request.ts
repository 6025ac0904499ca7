import type { ElevationRequest } from '@belay/sdk';
import { askForRequest } from '../ask-for-request.js';
import { usage } from '../cli-error.js';
import { addCommand, type CommonOptions, type Invocation, type Parent } from '../command.js';
import { followExecution } from '../follow-execution.js';
import { confirmUnderstood, understandRequest } from '../understand-request.js';

interface Options {
  role?: string;
  provider?: string[];
  duration?: string;
  reason?: string;
  identity?: string[];
  workflow?: string;
  yes?: boolean;
  dryRun?: boolean;
  wait: boolean;
  watch?: boolean;
}

function readFlags(options: Options): Partial<ElevationRequest> {
  const { role, provider, duration, reason, identity, workflow } = options;
  return {
    ...(role && { role }),
    ...(reason && { reason }),
    ...(provider && { providers: provider }),
    ...(duration && { duration }),
    ...(identity && { identities: identity }),
    ...(workflow && { workflow }),
  };
}

/** The request to send, by flags, words or questions; undefined when it was only to be looked at. */
async function compose(invocation: Invocation<Options & CommonOptions>): Promise<ElevationRequest | undefined> {
  const { args, options, output, interactive, connect, shell } = invocation;
  const sentence = args.join(' ').trim();
  const flags = readFlags(options);
  const { role } = flags;
  if (sentence === '') {
    if (options.dryRun === true) throw usage('--dry-run says how a sentence is understood: give one, in quotes');
    if (role !== undefined) return { ...flags, role };
    if (!interactive || Object.keys(flags).length > 0) {
      throw usage('a request needs --role, or a sentence in quotes; on a terminal, belay request alone asks');
    }
  }
  const { client } = await connect();
  if (sentence === '') return askForRequest(client, shell);
  const understood = await understandRequest(client, sentence, flags, shell.signal);
  if (options.dryRun !== true) {
    await confirmUnderstood(understood, invocation, options.yes === true);
    return understood.request;
  }
  output.result({ request: understood.request, suggestion: understood.suggestion }, () =>
    output.fields({
      ...understood.request,
      providers: understood.request.providers?.join(', '),
      identities: undefined,
    }),
  );
  return undefined;
}

/**
 * `belay request`: asks for a role, with flags, in words or step by step, and waits until the access is active. Ends
 * with 8 when it ended without access.
 */
export function addRequest(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'request [sentence...]',
    description: 'ask for a role: with options, in your own words, or step by step when run alone on a terminal',
    examples: [
      'request',
      'request "read the revenue tables for an hour, month end"',
      'request "read the revenue tables" --duration 30m --yes',
      "request --role reporting-readonly --provider demo-postgres --duration 20m --reason 'month end'",
      "request --role reporting-readonly --reason 'month end' --no-wait --json",
    ],
    values: { role: 'roles', provider: 'providers' },
    options: (command) =>
      command
        .option('--role <role>', 'the role to ask for')
        .option('--provider <provider...>', 'where; all of the role’s providers when left out')
        .option('--duration <duration>', 'for how long, as in PT1H or 1h30m; the role’s default when left out')
        .option('--reason <text>', 'why; most roles want to know. The sentence, when there is one')
        .option('--identity <identity...>', 'for whom; your own identity when left out')
        .option('--workflow <workflow>', 'one of the role’s workflows; its first when left out')
        .option('--yes', 'send what a sentence was understood as without asking')
        .option('--dry-run', 'only say how a sentence is understood')
        .option('--no-wait', 'do not wait until the access is active')
        .option('--watch', 'follow it until it is over'),
    run: async (invocation) => {
      const { options, output, connect, shell } = invocation;
      const request = await compose(invocation);
      if (request === undefined) return undefined;
      const { client } = await connect();
      const idempotencyKey = Buffer.from(shell.randomBytes(16)).toString('hex');
      const elevation = await client.elevation.request({ ...request, idempotencyKey }, { signal: shell.signal });
      const id = elevation.output.execution_id;
      const waits = options.wait || options.watch === true;
      const show = waits ? output.event : output.result;
      show(elevation, () => output.fields({ execution: id, status: elevation.status }));
      return waits
        ? followExecution(client, id, output, shell, { until: options.watch ? 'over' : 'active' })
        : undefined;
    },
  });
}
