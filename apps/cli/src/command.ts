import { type Command, Option } from 'commander';
import { CliError, usage } from './cli-error.js';
import { declareValueSources, type ValueSources } from './completion/value-sources.js';
import type { Connection, Origin, Reach } from './connect.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import type { Output } from './output/output.js';
import type { Shell } from './shell.js';

/** What a command gets: its arguments and options as commander parsed them, and the world. */
export interface Invocation<Options> {
  args: string[];
  options: Options;
  output: Output;
  shell: Shell;
  /** Somebody is there to answer, and the answer is not wanted as JSON. */
  interactive: boolean;
  /** `any` for what an agent answers as well; `server`, the default, for what only a server can do. */
  connect(reach?: Reach): Promise<Connection>;
}

/** The options that every command has. */
export interface CommonOptions {
  json?: boolean;
  server?: string;
}

export interface CommandDefinition<Options> {
  /** Name and arguments, as in `approve <id>`. */
  name: string;
  description: string;
  /** Command lines that show it at work, without the `belay` before them. */
  examples: readonly string[];
  /** Adds options beside `--json` and `--url`. */
  options?(command: Command): Command;
  /** Where the values of arguments and options come from, for completion; by their names. */
  values?: ValueSources;
  /** It works on this machine and talks to no server, so `--url` is refused rather than ignored. */
  here?: boolean;
  /** The one that runs when only the parent is named. */
  isDefault?: boolean;
  /** Resolves to the exit code, `ok` when it says nothing. */
  run(invocation: Invocation<Options & CommonOptions>): Promise<ExitCode | undefined>;
}

/** Where commands are hung, and where their exit code goes. */
export interface Parent {
  command: Command;
  shell: Shell;
  exit(code: ExitCode): void;
}

function describeExamples(examples: readonly string[]): string {
  return `\nExamples:\n${examples.map((example) => `  $ belay ${example}`).join('\n')}\n`;
}

/** Accepted by every command, so that a command that cannot use it can say so. */
function addressOption(hidden: boolean): Option {
  const option = new Option('--url, --server <url>', 'the address of the server or agent');
  return hidden ? option.hideHelp() : option;
}

/** Adds one command to the program or to a group of it. */
export function addCommand<Options>(parent: Parent, definition: CommandDefinition<Options>): void {
  const { shell } = parent;
  const command = parent.command
    .command(definition.name, { isDefault: definition.isDefault ?? false })
    .description(definition.description)
    .option('--json', 'print only JSON')
    .addOption(addressOption(definition.here === true))
    .addHelpText('after', describeExamples(definition.examples));
  definition.options?.(command);
  if (definition.values !== undefined) declareValueSources(command, definition.values);
  command.action(async () => {
    // Not before a command runs: help and completion start faster without them.
    const [{ createOutput }, { connect }] = await Promise.all([import('./output/output.js'), import('./connect.js')]);
    const options = command.opts<Options & CommonOptions>();
    const json = options.json === true;
    if (definition.here === true && options.server !== undefined) {
      throw usage('--url: this command works on this machine only and connects to no server');
    }
    const output = createOutput({ stdout: shell.stdout, stderr: shell.stderr, json, colour: shell.colour });
    let origin: Origin | undefined;
    const invocation: Invocation<Options & CommonOptions> = {
      args: command.args,
      options,
      output,
      shell,
      interactive: shell.interactive && !json,
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
      // Or whoever set the token would look for what is wrong with it.
      const why =
        'BELAY_TOKEN was not sent, because the address came from the agent of this machine; set BELAY_URL as well';
      throw new CliError('unauthenticated', `${error.message}; ${why}`, { cause: error });
    }
  });
}

/** Adds a group of commands, as in `executions show`. */
export function addGroup(parent: Parent, name: string, description: string): Parent {
  return { ...parent, command: parent.command.command(name).description(description) };
}
