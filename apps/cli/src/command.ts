import { type Command, Option } from 'commander';
import { CliError, usage } from './cli-error.js';
import { declareValueSources, type ValueSources } from './completion/value-sources.js';
import type { Connection, Origin, Reach } from './connect.js';
import { exitCodes } from './exit-codes.js';
import type { Items } from './output/format.js';
import type { Output } from './output/output.js';
import type { Shell } from './shell.js';

/** The input of a command: its parsed arguments and options, and its environment. */
export interface Invocation<Options> {
  args: string[];
  /** The words after `--`, which are not read as arguments or options. */
  rest: readonly string[];
  options: Options;
  output: Output;
  shell: Shell;
  /** Whether the command can prompt: on a terminal, without `--json`, `--jq` and `--template`. */
  interactive: boolean;
  /** Connects to a server, or with `any` to an agent as well. Default: `server`. */
  connect(reach?: Reach): Promise<Connection>;
}

/** The options that every command has. */
export interface CommonOptions {
  json?: string;
  jq?: string;
  template?: string;
  server?: string;
}

export interface CommandDefinition<Options> {
  /** Name and arguments, as in `approve <id>`. */
  name: string;
  description: string;
  /** Example command lines, without the leading `belay`. */
  examples: readonly string[];
  /**
   * Returns what the names in `--json a,b` are fields of: the items of the command's list, or undefined for the document itself. An unknown
   * field is then an error. Only for commands that change nothing.
   */
  items?: Items;
  /** Adds options other than `--json`, `--jq`, `--template` and `--url`. */
  options?(command: Command): Command;
  /** The sources of argument and option values for completion, by name. */
  values?: ValueSources;
  /** Whether the command works on this machine only, so that `--url` is rejected. */
  here?: boolean;
  /** Whether it is the default command of its group. */
  isDefault?: boolean;
  /**
   * Runs the command. Resolves to its exit code; undefined means `ok`. For `belay run`, this is the exit code of the
   * started program.
   */
  run(invocation: Invocation<Options & CommonOptions>): Promise<number | undefined>;
}

/** The program or group that commands are added to. */
export interface Parent {
  command: Command;
  shell: Shell;
  /** The words of the command line. Commands that they do not name are declared only as far as the help needs. */
  words: readonly string[];
  rest: readonly string[];
  exit(code: number): void;
}

function describeExamples(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((example) => `  $ belay ${example}`).join('\n')}\n`;
}

/** Returns the `--url` option. Every command accepts it, so that a command that cannot use it can explain why. */
function addressOption(hidden: boolean): Option {
  const option = new Option('--url, --server <url>', 'the address of the server or agent');
  return hidden ? option.hideHelp() : option;
}

/**
 * Adds one command to the program or to a group of it. Commands of groups that the command line does not name are left out, and so are the
 * options of commands that it does not name: declaring them all would take a quarter of the time of `belay --help`.
 */
export function addCommand<Options>(parent: Parent, definition: CommandDefinition<Options>): void {
  const { shell, words } = parent;
  if (parent.command.parent !== null && !words.includes(parent.command.name())) return;
  const command = parent.command
    .command(definition.name, { isDefault: definition.isDefault ?? false })
    .description(definition.description)
    .option('--json [fields]', 'print only JSON: all of it, or these fields, with commas between');
  if (definition.isDefault !== true && !words.includes(command.name())) return;
  command
    .option('-q, --jq <program>', 'print what a jq program makes of the JSON')
    .option('-t, --template <template>', 'print the JSON by a template, as in gh: {{range .…}}')
    .addOption(addressOption(definition.here === true))
    .addHelpText('after', describeExamples(definition.examples));
  definition.options?.(command);
  if (definition.values !== undefined) declareValueSources(command, definition.values);
  command.action(async () => {
    // Loaded when a command runs: help and completion start faster without them.
    const [{ createOutput }, { readFormat }, { connect }] = await Promise.all([
      import('./output/output.js'),
      import('./output/format.js'),
      import('./connect.js'),
    ]);
    const options = command.opts<Options & CommonOptions>();
    if (definition.here === true && options.server !== undefined) {
      throw usage('--url: this command works on this machine only and connects to no server');
    }
    const { stdout, stderr, colour, clock } = shell;
    const terminal = stdout.isTTY === true;
    const around = { items: definition.items, terminal, colour, clock, loadJq: shell.loadJq };
    const format = await readFormat(options, around);
    const output = createOutput({ stdout, stderr, format, clock, colour });
    let origin: Origin | undefined;
    const invocation: Invocation<Options & CommonOptions> = {
      args: command.args,
      rest: parent.rest,
      options,
      output,
      shell,
      interactive: shell.interactive && format === undefined,
      connect: async (reach = 'server') => {
        const connection = await connect(shell, options.server, reach);
        origin = connection.origin;
        return connection;
      },
    };
    try {
      parent.exit((await definition.run(invocation)) ?? exitCodes.ok);
    } catch (error) {
      if (shell.token === undefined || origin !== 'agent') throw error;
      const { isBelayError } = await import('@belay/sdk');
      if (!isBelayError(error, 'unauthenticated')) throw error;
      // Without this hint, the user would look for an error in the token.
      const why =
        'BELAY_TOKEN was not sent, because the address came from the agent of this machine; set BELAY_URL as well';
      throw new CliError('unauthenticated', `${error.message}; ${why}`, { cause: error });
    }
  });
}

/** Adds a group of commands, for example `executions`. */
export function addGroup(parent: Parent, name: string, description: string): Parent {
  return { ...parent, command: parent.command.command(name).description(description) };
}
