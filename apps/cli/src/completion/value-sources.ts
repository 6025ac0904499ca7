import type { Command } from 'commander';

/** Sources of values that only a server or an agent knows; `files` leaves the completion to the shell. */
export type ValueSource = 'roles' | 'providers' | 'authenticators' | 'executions' | 'approvals' | 'access' | 'files';

/** Sources by the name of an argument, or by commander's attribute name of an option. */
export type ValueSources = Readonly<Record<string, ValueSource>>;

const sources = new WeakMap<Command, ValueSources>();

/** Declares the sources of a command's argument and option values. */
export function declareValueSources(command: Command, values: ValueSources): void {
  sources.set(command, values);
}

/** Returns the source of an argument's or option's values; undefined when they cannot be completed. */
export function findValueSource(command: Command, name: string): ValueSource | undefined {
  return sources.get(command)?.[name];
}
