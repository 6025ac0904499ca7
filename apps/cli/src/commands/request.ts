import type { BelayClient, ElevationRequest } from '@belay/sdk';
import { askForRequest } from '../ask-for-request.js';
import { usage } from '../cli-error.js';
import { addCommand, type CommonOptions, type Invocation, type Parent } from '../command.js';
import { toDuration } from '../duration.js';
import { exitCodes } from '../exit-codes.js';
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
    ...(duration && { duration: toDuration(duration) }),
    ...(identity && { identities: identity }),
    ...(workflow && { workflow }),
  };
}

/** Returns the request to send, from flags, a sentence or prompts; undefined with `--dry-run`. */
async function compose(invocation: Invocation<Options & CommonOptions>): Promise<ElevationRequest | undefined> {
  const { args, options, output, interactive, connect, shell } = invocation;
  const sentence = args.join(' ').trim();
  const flags = readFlags(options);
  const { role } = flags;
  if (sentence === '') {
    if (options.dryRun === true) throw usage('--dry-run needs a sentence in quotes, to show how it is understood');
    if (role !== undefined) return { ...flags, role };
    if (!interactive || Object.keys(flags).length > 0) {
      throw usage(
        'a request needs --role or a sentence in quotes; on a terminal, run belay request alone to be prompted',
      );
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

/** Returns the roles that the words name; empty unless each word is `<role>` or `<provider>:<role>`. */
async function readCart(client: BelayClient, words: readonly string[], signal: AbortSignal): Promise<string[]> {
  if (words.length === 0 || words.some((word) => !/^[\w.:-]+$/.test(word))) return [];
  const { roles } = await client.roles.list({}, { signal });
  const known = new Map(Object.values(roles).map(({ role }) => [role.name, role.providers]));
  const isRole = (word: string) => {
    const at = word.indexOf(':');
    return known.has(word) || (at > 0 && (known.get(word.slice(at + 1))?.includes(word.slice(0, at)) ?? false));
  };
  return words.every(isRole) ? [...words] : [];
}

/**
 * Requests several roles, each as its own request, and waits for those that the server accepted unless `--no-wait` is
 * given. Returns the exit code.
 */
async function requestCart(
  client: BelayClient,
  roles: string[],
  { options, output, shell }: Invocation<Options & CommonOptions>,
): Promise<number> {
  for (const name of ['provider', 'identity', 'workflow', 'dryRun'] as const) {
    if (options[name] === undefined) continue;
    throw usage(
      'several roles are requested on the same terms: --duration and --reason; name a provider as <provider>:<role>',
    );
  }
  const { duration, reason } = options;
  const idempotencyKey = Buffer.from(shell.randomBytes(16)).toString('hex');
  const terms = { ...(duration && { duration: toDuration(duration) }), ...(reason && { reason }) };
  const made = await client.elevation.requestMany({ roles, ...terms, idempotencyKey }, { signal: shell.signal });
  const waits = options.wait || options.watch === true;
  const show = waits ? output.event : output.result;
  show(made, () =>
    output.table(
      ['Request', 'Role', 'Result'],
      made.results.map(({ execution_id, role, error }) => [execution_id, role, error?.message ?? 'requested']),
      'No requests',
    ),
  );
  let code: number = made.rejected > 0 ? exitCodes.failed : exitCodes.ok;
  const accepted = made.results.flatMap(({ execution_id }) => execution_id ?? []);
  for (const id of waits ? accepted : []) {
    const until = options.watch ? 'over' : 'active';
    code = Math.max(code, await followExecution(client, id, output, shell, { until }));
  }
  return code;
}

/**
 * Declares the command `belay request`, which requests roles with options, with a sentence or step by step, and waits
 * until the access is active unless `--no-wait` is given. It exits with 8 when it waited and the request ended without
 * access.
 */
export function addRequest(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'request [sentence...]',
    description: 'request roles: by name, with options, with a sentence, or step by step when run alone on a terminal',
    examples: [
      'request',
      "request reporting-readonly ledger-readonly --reason 'month end'",
      'request "read the revenue tables for an hour, month end"',
      'request "read the revenue tables" --duration 30m --yes',
      "request --role reporting-readonly --provider demo-postgres --duration 20m --reason 'month end'",
      "request --role reporting-readonly --reason 'month end' --no-wait --json",
    ],
    values: { role: 'roles', provider: 'providers' },
    options: (command) =>
      command
        .option('--role <role>', 'the role to request')
        .option('--provider <provider...>', 'the providers (default: all of the role’s)')
        .option(
          '--for, --duration <duration>',
          'the duration, for example 1h30m, "2 hours" or PT1H (default: the role’s)',
        )
        .option('--reason <text>', 'the reason, which most roles require (default: the sentence)')
        .option('--identity <identity...>', 'the identities that get the access (default: your own)')
        .option('--workflow <workflow>', 'one of the role’s workflows (default: its first)')
        .option('--yes', 'send the request that a sentence was understood as, without confirmation')
        .option('--dry-run', 'show how a sentence is understood, and send nothing')
        .option('--no-wait', 'return at once instead of waiting until the access is active')
        .option('--watch', 'follow the request until it has ended'),
    run: async (invocation) => {
      const { args, options, output, connect, shell } = invocation;
      if (options.role === undefined && args.length > 0) {
        const { client } = await connect();
        const roles = await readCart(client, args, shell.signal);
        if (roles.length > 1) return requestCart(client, roles, invocation);
        if (roles.length === 1) Object.assign(options, { role: args.pop() });
      }
      const request = await compose(invocation);
      if (request === undefined) return undefined;
      const { client } = await connect();
      const idempotencyKey = Buffer.from(shell.randomBytes(16)).toString('hex');
      const elevation = await client.elevation.request({ ...request, idempotencyKey }, { signal: shell.signal });
      const id = elevation.output.execution_id;
      const waits = options.wait || options.watch === true;
      const show = waits ? output.event : output.result;
      show(elevation, () => output.fields({ request: id, status: elevation.status }));
      return waits
        ? followExecution(client, id, output, shell, { until: options.watch ? 'over' : 'active' })
        : undefined;
    },
  });
}
