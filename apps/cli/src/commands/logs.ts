import { printable } from '@belay/contract/printable';
import type { BelayErrorCode, LogEntry, LogFilter, LogLevel } from '@belay/sdk';
import { Option } from 'commander';
import { usage } from '../cli-error.js';
import { addCommand, type Invocation, type Parent } from '../command.js';
import { findRequest } from '../find-request.js';
import { momentForms, readMoment } from '../moment.js';
import type { Output } from '../output/output.js';

interface Options {
  level?: LogLevel;
  provider?: string;
  user?: string;
  execution?: string;
  type?: string;
  since?: string;
  until?: string;
  limit: string;
  follow?: boolean;
}

/** How often a followed log is fetched, in milliseconds. */
const pause = 2_000;
/** How far each fetch reaches back before the newest entry, in milliseconds: entries can be committed late. */
const overlap = 10_000;

/** Temporary errors, for example during a server restart: a followed log continues after them. */
const passing = new Set<BelayErrorCode>(['network', 'unavailable', 'too_many_requests']);

function readFilter(options: Options, now: Date): LogFilter & { limit: number } {
  const limit = Number(options.limit);
  if (!/^\d+$/.test(options.limit) || limit < 1 || limit > 500) throw usage('--limit must be a number from 1 to 500');
  const { level, provider, user, execution, type } = options;
  const since = readMoment(options.since, { option: '--since', now, bound: 'start' });
  const until = readMoment(options.until, { option: '--until', now, bound: 'end' });
  if (until !== undefined && options.follow === true) throw usage('--until cannot be used with --follow');
  return {
    limit,
    ...(level && { level }),
    ...(provider && { provider }),
    ...(user && { user }),
    ...(execution && { workflow_id: execution }),
    ...(type && { type }),
    ...(since && { since }),
    ...(until && { until }),
  };
}

function show(entry: LogEntry, output: Output): void {
  const { colours } = output;
  const paint = { error: colours.red, warning: colours.yellow, info: colours.dim }[entry.level] ?? colours.dim;
  output.event(entry, () =>
    [
      colours.dim(printable(entry.timestamp)),
      paint(printable(entry.level).padEnd(output.terminal ? 7 : 0)),
      printable(entry.user || '-'),
      colours.bold(printable(entry.type)),
      printable(entry.message),
    ].join(output.terminal ? '  ' : '\t'),
  );
}

/** Declares the command `belay logs`, which prints the audit log, oldest first; one JSON document per line with `--json`. */
export function addLogs(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'logs',
    description: 'show the audit log, as far as you can see it, oldest first',
    examples: ['logs', 'logs --since 2h --level warning', 'logs --execution 0197… --json', 'logs --follow'],
    values: { provider: 'providers', execution: 'executions' },
    options: (command) =>
      command
        .addOption(
          new Option('--level <level>', 'show only events of this level').choices(['info', 'warning', 'error']),
        )
        .option('--provider <provider>', 'show only events about this provider')
        .option('--user <email>', 'show only events about this person')
        .option('--execution <id>', 'show only events about this request')
        .option('--type <type>', 'show only events of this type, for example approval.decided')
        .option('--since <time>', `not before this: ${momentForms}`)
        .option('--until <time>', 'not after this, in the same forms')
        .option('--limit <count>', 'show only this many of the newest events, at most 500', '50')
        .option('--follow', 'keep running and show new events, until Ctrl-C'),
    run: async (invocation) => {
      const { options, output, shell } = invocation;
      const given = readFilter(options, shell.clock());
      const { client } = await invocation.connect();
      const id = given.workflow_id;
      const filter = { ...given, ...(id && { workflow_id: await findRequest(client, id, shell.signal) }) };
      const read = async (wanted: LogFilter) =>
        (await client.logs.list(wanted, { signal: shell.signal })).logs.reverse();
      const first = await read(filter);
      for (const entry of first) show(entry, output);
      if (options.follow === true) return follow(first, { read, filter, invocation });
      if (first.length === 0) output.note('No matching events');
      return undefined;
    },
  });
}

async function follow(
  first: LogEntry[],
  {
    read,
    filter,
    invocation: { output, shell },
  }: {
    read(filter: LogFilter): Promise<LogEntry[]>;
    filter: LogFilter;
    invocation: Pick<Invocation<Options>, 'output' | 'shell'>;
  },
): Promise<never> {
  let newest = first.at(-1)?.timestamp ?? filter.since ?? shell.clock().toISOString();
  // Entries have no id: entries that were already shown are recognised by their whole content.
  let shown = new Set(first.map((entry) => JSON.stringify(entry)));
  const { isBelayError } = await import('@belay/sdk');
  let isAway = false;
  for (;;) {
    await shell.delay(pause, shell.signal);
    const since = new Date(Date.parse(newest) - overlap).toISOString();
    const entries = await read({ ...filter, since, limit: 500 }).catch((error: unknown) => {
      if (!isBelayError(error) || !passing.has(error.code)) throw error;
      if (!isAway) output.note(`belay: ${printable(error.message)}; retrying until Ctrl-C`);
      isAway = true;
    });
    if (entries === undefined) continue;
    isAway = false;
    for (const entry of entries) if (!shown.has(JSON.stringify(entry))) show(entry, output);
    newest = entries.at(-1)?.timestamp ?? newest;
    const current = entries.map((entry) => JSON.stringify(entry));
    shown = new Set(current.length > 0 ? current : shown);
  }
}
