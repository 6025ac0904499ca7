import type { Command } from 'commander';

/** Values that only a server or an agent knows; `files` are the shell's own to complete. */
export type ValueSource = 'roles' | 'providers' | 'authenticators' | 'executions' | 'approvals' | 'access' | 'files';

/** By the name of an argument, or of an option as commander holds it. */
export type ValueSources = Readonly<Record<string, ValueSource>>;

const sources = new WeakMap<Command, ValueSources>();

/** Says where the values of a command's arguments and options come from. */
export function declareValueSources(command: Command, values: ValueSources): void {
  sources.set(command, values);
}

/** Where the values of one argument or option come from; undefined when nobody can know them. */
export function findValueSource(command: Command, name: string): ValueSource | undefined {
  return sources.get(command)?.[name];
}
