import type { Command } from 'commander';
import { type Connection, connect } from './connect.js';
import { type ExitCode, exitCodes } from './exit-codes.js';
import { createOutput, type Output } from './output/output.js';
import type { Shell } from './shell.js';

/** What a command gets: its arguments and options as commander parsed them, and the world. */
export interface Invocation<Options> {
  args: string[];
  options: Options;
  output: Output;
  shell: Shell;
  /** Somebody is there to answer, and the answer is not wanted as JSON. */
  interactive: boolean;
  connect(): Promise<Connection>;
}

export interface CommandDefinition<Options> {
  /** Name and arguments, as in `approve <id>`. */
  name: string;
  description: string;
  /** Adds options beside `--json` and `--server`. */
  options?(command: Command): Command;
  /** The one that runs when only the parent is named. */
  isDefault?: boolean;
  /** Resolves to the exit code, `ok` when it says nothing. */
  run(invocation: Invocation<Options>): Promise<ExitCode | undefined>;
}

/** Where commands are hung, and where their exit code goes. */
export interface Parent {
  command: Command;
  shell: Shell;
  exit(code: ExitCode): void;
}

/** Adds one command to the program or to a group of it. */
export function addCommand<Options>(parent: Parent, definition: CommandDefinition<Options>): void {
  const { shell } = parent;
  const command = parent.command
    .command(definition.name, { isDefault: definition.isDefault ?? false })
    .description(definition.description)
    .option('--json', 'print JSON and nothing else')
    .option('--server <url>', 'the server to talk to');
  definition.options?.(command);
  command.action(async () => {
    const options = command.opts<Options & { json?: boolean; server?: string }>();
    const json = options.json === true;
    const output = createOutput({ stdout: shell.stdout, stderr: shell.stderr, json, colour: shell.colour });
    const code = await definition.run({
      args: command.args,
      options,
      output,
      shell,
      interactive: shell.interactive && !json,
      connect: () => connect(shell, options.server),
    });
    parent.exit(code ?? exitCodes.ok);
  });
}

/** Adds a group of commands, as in `executions show`. */
export function addGroup(parent: Parent, name: string, description: string): Parent {
  return { ...parent, command: parent.command.command(name).description(description) };
}
